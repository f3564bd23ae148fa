"""Estimates the size of requests: counts their characters, with a constant for each picture."""

from __future__ import annotations

import json
import operator
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from hookline_hookspecs import (
    Block,
    ImageBlock,
    Message,
    ModelRequest,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolResultBlock,
    ToolSchema,
)

CHARS_PER_TOKEN = 4
"""The estimate used until a provider has counted."""

IMAGE_CHARS = 6_400
"""Characters that a picture counts as: 1,600 tokens, the most that Anthropic counts unscaled."""

MAX_CACHED_HISTORIES = 64
"""Sessions whose histories' sizes are cached."""

MAX_CACHED_TOOL_SETS = 8
"""Sets of tools whose sizes are cached: agents and sub-agents have different ones."""

_KEY = "hookline-compaction"


def count_chars(message: Message) -> int:
    """Return the characters of a message as it is sent, including its context blocks."""
    chars = message.wire.get(_KEY)
    if chars is None:
        # A message never changes, and a session may have thousands, so each is counted once.
        chars = message.wire[_KEY] = len(message.context) + count_block_chars(message.blocks)
    return int(chars)


def count_block_chars(blocks: Iterable[Block]) -> int:
    """Return the characters of some blocks."""
    return sum(map(_block_chars, blocks))


def _block_chars(block: Block) -> int:
    match block:
        case TextBlock(text):
            return len(text)
        case ThinkingBlock():
            return len(block.text) + len(block.redacted or "")
        case ToolCall():
            return len(block.name) + _json_length(block.arguments)
        case ToolResultBlock():
            return len(block.text) + IMAGE_CHARS * len(block.images)
        case ImageBlock():
            return IMAGE_CHARS


def _json_length(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, default=str))


@dataclass(frozen=True, slots=True)
class HistorySize:
    """Messages, their characters in total, and those of the largest message."""

    messages: tuple[Message, ...] = ()
    total_chars: int = 0
    largest_chars: int = 0


class RequestSizes:
    """Counts the characters of whole requests. Caches the sizes of recent sets of tools, which
    sessions share, and of recent sessions' histories, so that only new messages are counted."""

    def __init__(self) -> None:
        self._tools: list[tuple[tuple[ToolSchema, ...], int]] = []
        self._histories: OrderedDict[str, HistorySize] = OrderedDict()

    def history(self, request: ModelRequest) -> HistorySize:
        """Return the size of the request's messages."""
        known = self._histories.pop(request.session_id, HistorySize())
        # Identical objects compare equal at once, so this is fast even for thousands.
        if request.messages[: len(known.messages)] != known.messages:
            known = HistorySize()
        new = [count_chars(message) for message in request.messages[len(known.messages) :]]
        total, largest = known.total_chars + sum(new), max(known.largest_chars, *new, 0)
        size = self._histories[request.session_id] = HistorySize(request.messages, total, largest)
        if len(self._histories) > MAX_CACHED_HISTORIES:
            self._histories.popitem(last=False)
        return size

    def fixed_chars(self, request: ModelRequest) -> int:
        """Return the characters of system prompt and tools."""
        return len(request.system) + len(request.ephemeral) + self._tools_chars(request.tools)

    def _tools_chars(self, tools: tuple[ToolSchema, ...]) -> int:
        # Each session has its own tuple; tuples with the same tools are equal, but not identical.
        for same in (operator.is_, operator.eq):
            for known, chars in self._tools:
                if same(known, tools):
                    return chars
        chars = sum(map(_tool_chars, tools))
        self._tools = [(tools, chars), *self._tools[: MAX_CACHED_TOOL_SETS - 1]]
        return chars

    def total_chars(self, request: ModelRequest) -> int:
        """Return the characters of the whole request."""
        return self.fixed_chars(request) + self.history(request).total_chars


def _tool_chars(tool: ToolSchema) -> int:
    return len(tool.name) + len(tool.description) + _json_length(dict(tool.parameters))
