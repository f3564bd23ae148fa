"""Which facts the model's context already contains, so that none is added twice.

The history itself is searched, which survives restarts and respects compaction, ``/undo`` and
dropped context.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from html import unescape
from typing import Any

from hookline_hookspecs import Message, ToolCall, ToolResultBlock

CONTEXT_TAG = "recalled-context"
"""The element of recalled facts in a turn's context."""
_BLOCK = re.compile(rf"<{CONTEXT_TAG}>(.*?)</{CONTEXT_TAG}>", re.DOTALL)
_LINE = re.compile(r"^- (.*) \[[^\[\]]*\]$", re.MULTILINE)


def facts_in_context(history: Iterable[Message]) -> set[str]:
    """Return the facts in a history: in contexts, in results of the tool, and in what the model
    wrote itself."""
    found: set[str] = set()
    calls: set[str] = set()
    for message in history:
        if message.context:
            for block in _BLOCK.findall(message.context):
                found.update(_contents(unescape(block)))
        for part in message.blocks:
            if isinstance(part, ToolCall) and part.name == "memory":
                calls.add(part.id)
                found.update(_written(part.arguments))
            elif isinstance(part, ToolResultBlock) and part.call_id in calls:
                found.update(_contents(part.text))
    return found


def _contents(text: str) -> list[str]:
    return _LINE.findall(text)


def _written(arguments: Mapping[str, Any]) -> Iterator[str]:
    operations = arguments.get("operations")
    for given in [arguments, *(operations if isinstance(operations, list) else ())]:
        content = given.get("content") if isinstance(given, Mapping) else None
        if isinstance(content, str):
            yield " ".join(content.split())
