"""Checks what plugins return: its type, and that of every field."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .fields import wrong_field


def wrong_type(value: object, *wanted: Any) -> TypeError:
    """Return the error for a ``value`` that is none of ``wanted``, types or descriptions."""
    names = " or ".join(getattr(kind, "__name__", str(kind)) for kind in wanted)
    return TypeError(f"it returned {type(value).__name__} where {names} or None is wanted")


def mistake_in(value: object, *kinds: type) -> TypeError | None:
    """Return the error for a ``value`` that is none of ``kinds`` or has a wrong field, or None."""
    return wrong_field(value) if isinstance(value, kinds) else wrong_type(value, *kinds)


def listed(result: Any) -> Sequence[Any]:
    """Return one or several contributions as a sequence."""
    return result if isinstance(result, (list, tuple)) else (result,)
