"""JSON as it goes on the wire: compact, in UTF-8, the same bytes for the same values."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from hookline_hookspecs import ToolCall

EMPTY = "(empty)"
"""Stands in for a message without any content.

OpenAI accepts an empty string, but several compatible servers refuse it or white space alone; a
short word without spaces is accepted by all.
"""
MAX_ID = 40
"""The longest tool call id that OpenAI accepts, in characters."""
MAX_NAME = 64
"""The longest tool name that OpenAI accepts, in characters."""

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a {type(value).__name__} cannot be sent as JSON")


_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_plain)
_SORTED = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def encode(value: Any) -> bytes:
    """``value`` as compact JSON. A lone surrogate, which UTF-8 has no place for, becomes ``?``."""
    return _JSON.encode(value).encode("utf-8", "replace")


def call_arguments(call: ToolCall) -> str:
    """A call's arguments as a JSON string; ``{}`` for a call that could not be read.

    Keys are sorted, because equal calls must give equal bytes and a database may return the keys
    of an object in another order.
    """
    return "{}" if call.error else _SORTED.encode(call.arguments)


def call_name(name: str) -> str:
    """A tool name that every server accepts; a name the model got wrong is made fit."""
    return _NOT_IN_NAMES.sub("_", name)[:MAX_NAME] or "unnamed"


def call_id(given: str) -> str:
    """A tool call id of at most 40 characters; longer ones (of other providers) are hashed."""
    if 0 < len(given) <= MAX_ID:
        return given
    return "call_" + hashlib.sha256(given.encode("utf-8", "replace")).hexdigest()[:32]
