"""Reads the JSON body of a request strictly."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, overload

from .errors import ApiError, invalid_request

T = TypeVar("T")
MAX_DEPTH = 64
"""Levels of nested lists and objects."""
_NAMES: Mapping[type, str] = {
    str: "a string",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    dict: "an object",
    list: "a list",
}


def read_json(body: bytes) -> dict[str, Any]:
    """Return the JSON object in a body. Raises :class:`ApiError` (400)."""
    try:
        text = body.decode("utf-8")
        data = json.loads(text, object_pairs_hook=_unique_keys, parse_constant=_refuse_constant)
    except ApiError:
        raise
    except UnicodeDecodeError:
        raise invalid_request("The body is not UTF-8.", code="invalid_json") from None
    except RecursionError:
        raise _too_deep() from None
    except ValueError:
        raise invalid_request("The body is not JSON.", code="invalid_json") from None
    if not isinstance(data, dict):
        raise invalid_request("The body is not a JSON object.", code="invalid_json")
    _check(data, 0)
    return data


def _unique_keys(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        shown = twice[:80].encode("ascii", "backslashreplace").decode()
        raise invalid_request(f"An object has the key {shown!r} twice.", code="invalid_json")
    return found


def _refuse_constant(name: str) -> Any:
    raise invalid_request(f"{name} is not a valid JSON number.", code="invalid_json")


def _too_deep() -> ApiError:
    return invalid_request(
        f"The body is nested deeper than {MAX_DEPTH} levels.", code="invalid_json"
    )


def _check(value: Any, depth: int) -> None:
    """Refuse deep nesting, and what no store can hold: NUL and lone surrogates."""
    if depth > MAX_DEPTH:
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
        raise invalid_request("A string has a NUL character.", code="invalid_json")
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise invalid_request("A string has a lone surrogate.", code="invalid_json") from None


@overload
def read_field(data: Mapping[str, Any], name: str, kind: type[T]) -> T | None: ...
@overload
def read_field(data: Mapping[str, Any], name: str, kind: type[T], default: T) -> T: ...
def read_field(
    data: Mapping[str, Any], name: str, kind: type[T], default: T | None = None
) -> T | None:
    """Return ``data[name]`` if it has the type ``kind``, ``default`` if it is absent or null.

    Raises :class:`ApiError` (400) for another type.
    """
    value = data.get(name)
    if value is None:
        return default
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise invalid_request(f"{name} must be {_NAMES[kind]}.", name, "invalid_type")
    return value
