"""The weight of messages: the characters that are sent, and a constant for each picture."""

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
"""A picture counts as 1,600 tokens, the most that Anthropic counts for one it does not scale
down."""

KEPT = 64
"""Sessions whose histories' weights are cached."""

SETS = 8
"""Sets of tools whose weights are cached: agents and sub-agents have different ones."""

_KEY = "hookline-compaction"


def weigh(message: Message) -> int:
    """Return the characters of a message as it is sent, including its context blocks."""
    known = message.wire.get(_KEY)
    if known is None:
        # A message never changes, and a session may have thousands, so each is weighed once.
        known = message.wire[_KEY] = len(message.context) + weigh_blocks(message.blocks)
    return int(known)


def weigh_blocks(blocks: Iterable[Block]) -> int:
    """Return the characters of some blocks."""
    return sum(map(_weigh_block, blocks))


def _weigh_block(block: Block) -> int:
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
class Weighed:
    """Messages, their characters in all, and those of the largest."""

    messages: tuple[Message, ...] = ()
    total: int = 0
    heaviest: int = 0


class Scales:
    """Weighs whole requests. Caches the weights of recent sets of tools, which sessions share, and
    of recent sessions' histories, of which only new messages are weighed."""

    def __init__(self) -> None:
        self._tools: list[tuple[tuple[ToolSchema, ...], int]] = []
        self._known: OrderedDict[str, Weighed] = OrderedDict()

    def messages(self, request: ModelRequest) -> Weighed:
        """Return the weight of the request's messages."""
        known = self._known.pop(request.session_id, Weighed())
        # Identical objects compare equal at once, so this is fast even for thousands.
        if request.messages[: len(known.messages)] != known.messages:
            known = Weighed()
        new = [weigh(message) for message in request.messages[len(known.messages) :]]
        total, heaviest = known.total + sum(new), max(known.heaviest, *new, 0)
        found = self._known[request.session_id] = Weighed(request.messages, total, heaviest)
        if len(self._known) > KEPT:
            self._known.popitem(last=False)
        return found

    def fixed(self, request: ModelRequest) -> int:
        """Return the characters of system prompt and tools."""
        return len(request.system) + len(request.ephemeral) + self._weight_of(request.tools)

    def _weight_of(self, tools: tuple[ToolSchema, ...]) -> int:
        # A session keeps its tuple; another's with the same tools is equal, and not the same one.
        for same in (operator.is_, operator.eq):
            for known, weight in self._tools:
                if same(known, tools):
                    return weight
        weight = sum(map(_weigh_tool, tools))
        self._tools = [(tools, weight), *self._tools[: SETS - 1]]
        return weight

    def request(self, request: ModelRequest) -> int:
        """Return the characters of the whole request."""
        return self.fixed(request) + self.messages(request).total


def _weigh_tool(tool: ToolSchema) -> int:
    return len(tool.name) + len(tool.description) + _json_length(dict(tool.parameters))
