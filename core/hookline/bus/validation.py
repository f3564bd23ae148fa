"""Checks what plugins return: its type, and that of every field of a dataclass."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

Fits: TypeAlias = Callable[[Any], bool]


def field_error(value: object) -> TypeError | None:
    """Return the error for the first field of a dataclass whose value has the wrong type."""
    kind: Any = type(value)
    if hasattr(kind, "__dataclass_fields__"):
        for name, fits in _checks(kind):
            part = getattr(value, name)
            if not fits(part):
                found = f"{type(part).__name__} as its {name}, or with the wrong items in it"
                return TypeError(f"it returned {kind.__name__} with {found}")
    return None


@cache
def _checks(kind: Any) -> tuple[tuple[str, Fits], ...]:
    hints = get_type_hints(kind)
    return tuple((field.name, _fits(hints[field.name])) for field in fields(kind))


def _fits(hint: Any) -> Fits:
    """Return a check for an annotation. Checks items of tuples but not values of mappings."""
    origin, arguments = get_origin(hint) or hint, get_args(hint)
    if origin is Any:
        return lambda _: True
    if origin is Literal:
        return lambda value: isinstance(value, str) and value in arguments
    if origin in (Union, types.UnionType):
        options = [_fits(argument) for argument in arguments]
        return lambda value: any(fits(value) for fits in options)
    if origin is tuple and arguments[1:] == (...,):
        item, parts = (
            _fits(arguments[0]),
            {get_origin(part) for part in (arguments[0], *get_args(arguments[0]))},
        )
        if parts & {tuple, Literal}:
            return lambda value: isinstance(value, tuple) and all(map(item, value))
        # A history has thousands of items: one of each type is checked.
        return lambda value: (
            isinstance(value, tuple)
            and all(map(item, {type(part): part for part in value}.values()))
        )
    if origin is tuple:
        items = [_fits(argument) for argument in arguments]
        return lambda value: (
            isinstance(value, tuple)
            and len(value) == len(items)
            and all(fits(part) for fits, part in zip(items, value, strict=True))
        )
    wanted: Any = {dict: Mapping, float: (int, float)}.get(origin, origin)
    return lambda value: isinstance(value, wanted)


def unexpected_type(value: object, *wanted: Any) -> TypeError:
    """Return the error for a ``value`` that is none of ``wanted``, types or descriptions."""
    names = " or ".join(getattr(kind, "__name__", str(kind)) for kind in wanted)
    return TypeError(f"it returned {type(value).__name__} where {names} or None is wanted")


def type_error(value: object, *kinds: type) -> TypeError | None:
    """Return the error for a ``value`` that is none of ``kinds`` or has a wrong field, or None."""
    return field_error(value) if isinstance(value, kinds) else unexpected_type(value, *kinds)


def as_sequence(result: Any) -> Sequence[Any]:
    """Return one or several contributions as a sequence."""
    return result if isinstance(result, (list, tuple)) else (result,)
