"""Reads the JSON body of a request strictly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, overload

from hookline_hookspecs.strict_json import InvalidJson, read_json_object

from .errors import invalid_request

T = TypeVar("T")
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
        return read_json_object(body)
    except InvalidJson as error:
        raise invalid_request(f"The body is {error}.", code="invalid_json") from None


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
