"""Parses the body of ``POST /webhook``: ``{"id", "chat", "user", "text"}``.

Optional are ``"sender"``, the user's name, ``"forwarded"``, the original author of a forwarded
message, ``"quoted"``, the text that the message replies to, and ``"quoted_by"``, its author.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from hookline_hookspecs.strict_json import InvalidJson, read_json_object

MAX_ID_CHARS = 200
MAX_FILE_NAME_BYTES = 255
"""A chat's percent-encoded id names its folder; most file systems allow no longer name."""


class InvalidBody(ValueError):
    """The body is invalid; the text says why."""


@dataclass(frozen=True, slots=True)
class WebhookMessage:
    """The message in a body."""

    id: str
    chat: str
    user: str
    text: str
    sender: str = ""
    forwarded: str = ""
    quoted: str = ""
    quoted_by: str = ""


def parse_body(body: bytes) -> WebhookMessage:
    """Parse a body; unknown keys are ignored. Raises :class:`InvalidBody`."""
    data = _object(body)
    ids = {name: _id(name, data) for name in ("id", "chat", "user")}
    if len(quote(ids["chat"], safe="")) > MAX_FILE_NAME_BYTES:
        raise InvalidBody('"chat" is too long; percent-encoded it may have 255 characters')
    text = _string("text", data)
    if not text.strip():
        raise InvalidBody('"text" is blank')
    names = ("sender", "forwarded", "quoted_by")
    optional = {name: _id(name, data) for name in names if name in data}
    if "quoted" in data:
        optional["quoted"] = _string("quoted", data)
    return WebhookMessage(ids["id"], ids["chat"], ids["user"], text, **optional)


def _object(body: bytes) -> dict[str, Any]:
    try:
        return read_json_object(body)
    except InvalidJson as error:
        raise InvalidBody(f"the body is {error}") from None


def _string(name: str, data: dict[str, Any]) -> str:
    if name not in data:
        raise InvalidBody(f'"{name}" is missing')
    value = data[name]
    if not isinstance(value, str):
        raise InvalidBody(f'"{name}" is not a string')
    return value


def _id(name: str, data: dict[str, Any]) -> str:
    value = _string(name, data)
    if not value.strip():
        raise InvalidBody(f'"{name}" is blank')
    if len(value) > MAX_ID_CHARS:
        raise InvalidBody(f'"{name}" is longer than {MAX_ID_CHARS} characters')
    if any(unicodedata.category(character) == "Cc" for character in value):
        raise InvalidBody(f'"{name}" holds a control character')
    return value
