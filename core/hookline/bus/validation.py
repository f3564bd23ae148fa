"""Checks what plugins return: its type, and by the service ``fields`` that of every field."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from ..config import find_driver


@cache
def _field_check() -> Callable[[object], TypeError | None]:
    return find_driver("hookline.services", "fields") or (lambda _: None)


def field_error(value: object) -> TypeError | None:
    """Return the error for the first field of a dataclass of the wrong type; without the guards, None."""
    return _field_check()(value)


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
