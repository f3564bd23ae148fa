"""Dicts and lists that reject changes, for the data inside frozen events.

``isinstance``, ``==`` and ``json`` treat them as ordinary dicts and lists; copies, shallow or deep,
are ordinary and mutable.
"""

from __future__ import annotations

from typing import Any, NoReturn


def _refuse(self: object, *_args: Any, **_kwargs: Any) -> NoReturn:
    raise TypeError(
        "data inside an event cannot be changed in place, because others hold the same object; "
        "return a changed copy (dataclasses.replace, {**old, key: value}, copy.deepcopy)"
    )


class FrozenDict(dict[Any, Any]):
    """A dict that rejects changes."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = _refuse
    update = setdefault = pop = popitem = clear = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


class FrozenList(list[Any]):
    """A list that rejects changes."""

    __slots__ = ()
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = extend = insert = pop = remove = clear = _refuse
    sort = reverse = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)


def freeze(value: Any) -> Any:
    """Return ``value`` with its dicts and lists, at every depth, replaced by frozen copies.

    Other values are unchanged; a value that is already frozen is returned as is.
    """
    kind = type(value)
    if kind is dict:
        return FrozenDict({key: freeze(part) for key, part in value.items()})
    if kind is list:
        return FrozenList([freeze(part) for part in value])
    if kind is tuple:
        return tuple([freeze(part) for part in value])
    return value


def freeze_fields(event: object, *names: str) -> None:
    """Freeze fields of a frozen dataclass; call it in ``__post_init__``."""
    for name in names:
        value = getattr(event, name)
        frozen = freeze(value)
        if frozen is not value:
            object.__setattr__(event, name, frozen)
