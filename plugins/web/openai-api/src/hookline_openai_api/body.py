"""The body of a request, read strictly."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, overload

from .errors import ApiError, bad

T = TypeVar("T")
DEEPEST = 64
"""Levels of lists and objects in each other."""
_NAMES: Mapping[type, str] = {
    str: "a string",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    dict: "an object",
    list: "a list",
}


def read_json(body: bytes) -> dict[str, Any]:
    """Return the object in a body. Raises :class:`ApiError` (400) with a sentence."""
    try:
        text = body.decode("utf-8")
        data = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    except ApiError:
        raise
    except UnicodeDecodeError:
        raise bad("The body is not UTF-8.", code="invalid_json") from None
    except RecursionError:
        raise _too_deep() from None
    except ValueError:
        raise bad("The body is not JSON.", code="invalid_json") from None
    if not isinstance(data, dict):
        raise bad("The body is not a JSON object.", code="invalid_json")
    _check(data, 0)
    return data


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        shown = twice[:80].encode("ascii", "backslashreplace").decode()
        raise bad(f"The key {shown!r} stands twice in an object.", code="invalid_json")
    return found


def _no_number(name: str) -> Any:
    raise bad(f"{name} is no number in JSON.", code="invalid_json")


def _too_deep() -> ApiError:
    return bad(f"The body is nested deeper than {DEEPEST} levels.", code="invalid_json")


def _check(value: Any, depth: int) -> None:
    """Refuse what no store can hold: NUL and halves of surrogate pairs."""
    if depth > DEEPEST:
        raise _too_deep()
    if isinstance(value, str):
        _check_text(value)
    elif isinstance(value, dict):
        for name, part in value.items():
            _check_text(name)
            _check(part, depth + 1)
    elif isinstance(value, list):
        for part in value:
            _check(part, depth + 1)


def _check_text(text: str) -> None:
    if "\0" in text:
        raise bad("A string holds a NUL character; leave it out.", code="invalid_json")
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise bad("A string holds half of a surrogate pair.", code="invalid_json") from None


@overload
def take(data: Mapping[str, Any], name: str, kind: type[T]) -> T | None: ...
@overload
def take(data: Mapping[str, Any], name: str, kind: type[T], default: T) -> T: ...
def take(data: Mapping[str, Any], name: str, kind: type[T], default: T | None = None) -> T | None:
    """Return ``data[name]`` if it is of ``kind``, ``default`` if it is absent or null.

    Raises :class:`ApiError` (400) for another type.
    """
    value = data.get(name)
    if value is None:
        return default
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise bad(f"{name} must be {_NAMES[kind]}.", name, "invalid_type")
    return value
