"""Makes JSON of servers readable for the SDK, whose parser refuses a whole message over one value.

It refuses half of a surrogate pair, as programs in JavaScript send it when they cut a text, more
than two hundred levels, and bytes that are not UTF-8.
"""

from __future__ import annotations

import json
import re
from typing import Any

from pydantic import TypeAdapter

MAX_LEVELS = 100
"""Levels of a message; what is deeper becomes null. No tool with as many is offered."""
_ANY: TypeAdapter[Any] = TypeAdapter(Any)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.?)*+"?|[\[\]{}]', re.DOTALL)
"""A text, also one without an end, or a bracket."""
_SURROGATE = re.compile("[\ud800-\udfff]")


def readable_json(data: bytes) -> bytes:
    """Return ``data`` if the SDK can read it, or is not JSON at all; else JSON that it can read."""
    try:
        _ANY.validate_json(data)
        return data
    except ValueError:
        pass
    try:
        value = json.loads(_cut_levels(data.decode("utf-8", "replace")))
        text = json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError):
        return data
    return _SURROGATE.sub("\ufffd", text).encode()


def _cut_levels(text: str) -> str:
    """Replace lists and objects that are nested too deep by ``null``."""
    kept: list[str] = []
    level = at = 0
    for found in _TOKEN.finditer(text):
        mark = found[0]
        if mark in "[{":
            level += 1
            if level == MAX_LEVELS + 1:
                kept += [text[at : found.start()], "null"]
        elif mark in "]}":
            level -= 1
            if level == MAX_LEVELS:
                at = found.end()
    return "".join([*kept, text[at:]]) if level <= MAX_LEVELS else text
