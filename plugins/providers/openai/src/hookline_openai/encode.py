"""JSON as it goes on the wire: compact, in UTF-8, the same bytes for the same values."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from hookline_hookspecs import ToolCall

EMPTY = "(empty)"
"""Sent for a message without content.

Several compatible servers refuse an empty string, or white space alone.
"""
MAX_ID_CHARS = 40
"""OpenAI's limit for a tool call id."""
MAX_NAME_CHARS = 64
"""OpenAI's limit for a tool name."""

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"a {type(value).__name__} cannot be sent as JSON")


_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_plain)
_SORTED = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def encode(value: Any) -> bytes:
    """Return ``value`` as compact JSON; a lone surrogate becomes ``?``."""
    return _JSON.encode(value).encode("utf-8", "replace")


def call_arguments(call: ToolCall) -> str:
    """Return a call's arguments as a JSON string; ``{}`` for a call that could not be read.

    Keys are sorted: equal calls must give equal bytes, and a database may reorder keys.
    """
    return "{}" if call.error else _SORTED.encode(call.arguments)


def call_name(name: str) -> str:
    """Return a tool name that every server accepts, also for one that the model got wrong."""
    return _NOT_IN_NAMES.sub("_", name)[:MAX_NAME_CHARS] or "unnamed"


def call_id(given: str) -> str:
    """Return a tool call id of at most 40 characters; longer ones are hashed."""
    if 0 < len(given) <= MAX_ID_CHARS:
        return given
    return "call_" + hashlib.sha256(given.encode("utf-8", "replace")).hexdigest()[:32]
