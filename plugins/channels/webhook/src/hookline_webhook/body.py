"""The body of ``POST /webhook``, read strictly: ``{"id", "chat", "user", "text"}``, and if they are
known ``"sender"``, the user's name, and ``"forwarded"``, from whom a message was passed on."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

LONGEST_ID = 200
"""Characters of an id."""
LONGEST_NAME = 255
"""Bytes of a file name on common file systems; a chat's id, percent-encoded, names its folder."""


class BadBody(ValueError):
    """The body is not what it must be; the text says what is wrong."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message as it was delivered."""

    id: str
    chat: str
    user: str
    text: str
    sender: str = ""
    forwarded: str = ""


def read(body: bytes) -> Delivery:
    """The message in ``body``. Raises :class:`BadBody` with a sentence; other keys are ignored."""
    data = _object(body)
    ids = {name: _id(name, data) for name in ("id", "chat", "user")}
    if len(quote(ids["chat"], safe="")) > LONGEST_NAME:
        raise BadBody('"chat" is too long; percent-encoded it may have 255 characters')
    text = _string("text", data)
    if not text.strip():
        raise BadBody('"text" is blank')
    if "\0" in text:
        raise BadBody('"text" holds a NUL')
    told = {name: _id(name, data) for name in ("sender", "forwarded") if name in data}
    return Delivery(ids["id"], ids["chat"], ids["user"], text, **told)


def _object(body: bytes) -> dict[str, Any]:
    try:
        data = json.loads(body.decode("utf-8"), object_pairs_hook=_once)
    except BadBody:
        raise
    except UnicodeDecodeError:
        raise BadBody("the body is not UTF-8") from None
    except (ValueError, RecursionError):
        raise BadBody("the body is not JSON") from None
    if not isinstance(data, dict):
        raise BadBody('the body is not a JSON object {"id", "chat", "user", "text"}')
    return data


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys are all different: of two, sender and reader may mean another one."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise BadBody("a key stands twice in the body")
    return found


def _string(name: str, data: dict[str, Any]) -> str:
    if name not in data:
        raise BadBody(f'"{name}" is missing')
    value = data[name]
    if not isinstance(value, str):
        raise BadBody(f'"{name}" is not a string')
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise BadBody(f'"{name}" holds half of a surrogate pair') from None
    return value


def _id(name: str, data: dict[str, Any]) -> str:
    value = _string(name, data)
    if not value.strip():
        raise BadBody(f'"{name}" is blank')
    if len(value) > LONGEST_ID:
        raise BadBody(f'"{name}" is longer than {LONGEST_ID} characters')
    if any(unicodedata.category(character) == "Cc" for character in value):
        raise BadBody(f'"{name}" holds a control character')
    return value
