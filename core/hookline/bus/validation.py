"""Checks the types of values that plugins return, and of the fields of dataclasses."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

TypeCheck: TypeAlias = Callable[[Any], bool]


def field_error(value: object) -> TypeError | None:
    """Return the error for the first field of a dataclass whose value has the wrong type."""
    kind: Any = type(value)
    if hasattr(kind, "__dataclass_fields__"):
        for name, is_valid, hint in _field_checks(kind):
            part = getattr(value, name)
            if not is_valid(part):
                return TypeError(
                    f"field {name} of {kind.__name__}: expected {hint}, got {type(part).__name__}"
                )
    return None


@cache
def _field_checks(kind: Any) -> tuple[tuple[str, TypeCheck, str], ...]:
    """The name, check and annotation text of each field of a dataclass."""
    hints = get_type_hints(kind)
    return tuple(
        (
            field.name,
            _type_check(hints[field.name]),
            field.type if isinstance(field.type, str) else _name(field.type),
        )
        for field in fields(kind)
    )


def _type_check(hint: Any) -> TypeCheck:
    """Return a check for an annotation. Checks items of tuples but not values of mappings."""
    origin, arguments = get_origin(hint) or hint, get_args(hint)
    if origin is Any:
        return lambda _: True
    if origin is Literal:
        return lambda value: isinstance(value, str) and value in arguments
    if origin in (Union, types.UnionType):
        options = [_type_check(argument) for argument in arguments]
        return lambda value: any(is_valid(value) for is_valid in options)
    if origin is tuple:
        return _tuple_check(arguments)
    accepted: Any = {dict: Mapping, float: (int, float)}.get(origin, origin)
    return lambda value: isinstance(value, accepted)


def _tuple_check(arguments: tuple[Any, ...]) -> TypeCheck:
    if arguments[1:] != (...,):
        items = [_type_check(argument) for argument in arguments]
        return lambda value: (
            isinstance(value, tuple)
            and len(value) == len(items)
            and all(is_valid(part) for is_valid, part in zip(items, value, strict=True))
        )
    item = _type_check(arguments[0])
    nested = {get_origin(part) for part in (arguments[0], *get_args(arguments[0]))}
    if nested & {tuple, Literal}:
        return lambda value: isinstance(value, tuple) and all(map(item, value))
    # A history has thousands of items, so only one item of each type is checked.
    return lambda value: (
        isinstance(value, tuple) and all(map(item, {type(part): part for part in value}.values()))
    )


def unexpected_type(value: object, *expected: Any) -> TypeError:
    """Return the error for a ``value`` that is none of ``expected``, types or descriptions."""
    names = [_name(kind) for kind in expected]
    *first, last = [*names, "None"]
    return TypeError(f"expected {', '.join(first)} or {last}, got {type(value).__name__}")


def _name(kind: Any) -> str:
    """A type's name; unions and descriptions have no name and are shown as they are."""
    return str(getattr(kind, "__name__", kind))


def type_error(value: object, *kinds: type) -> TypeError | None:
    """Return the error if ``value`` is none of ``kinds`` or has a wrong field; else None."""
    return field_error(value) if isinstance(value, kinds) else unexpected_type(value, *kinds)


def as_sequence(result: Any) -> Sequence[Any]:
    """Return one or several contributions as a sequence."""
    return result if isinstance(result, (list, tuple)) else (result,)
