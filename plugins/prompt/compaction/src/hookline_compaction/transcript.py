"""Renders the part to be summarised as plain text that fits the auxiliary model."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from hookline_hookspecs import (
    Block,
    ImageBlock,
    Message,
    TextBlock,
    ThinkingBlock,
    ToolCall,
    ToolResultBlock,
)

from .large_texts import cut
from .summary_messages import is_summary_block, summary_in

EXCERPTS = (4_000, 1_500, 600, 250, 100)
"""Characters shown of one text; the next smaller number is tried if the whole does not fit."""


@cache
def instruction() -> str:
    """The system prompt for the summary."""
    return Path(__file__).with_name("summary.md").read_text("utf-8").strip()


def prompt(messages: Sequence[Message], focus: str, tokens: int, max_chars: int) -> str:
    """Return the request for a summary of ``messages`` of at most ``tokens``, within ``max_chars``
    characters.

    Summaries of earlier passes come first and are never cut.
    """
    parts = []
    earlier = [text for m in messages for b in m.blocks if (text := summary_in(b)) is not None]
    if earlier:
        parts.append(_element("earlier-summary", "\n\n".join(earlier)))
    if focus.strip():
        parts.append(f"Keep in view above all: {focus.strip()}")
    # Three words are about four tokens; half of the allowance avoids being cut off.
    parts.append(f"Write at most {tokens * 3 // 8} words.")
    left = max_chars - sum(map(len, parts))
    return "\n\n".join([_element("conversation", _transcript(messages, max(left, 1_000))), *parts])


def _element(tag: str, text: str) -> str:
    return f"<{tag}>\n{text}\n</{tag}>"


def _transcript(messages: Sequence[Message], max_chars: int) -> str:
    for excerpt in EXCERPTS:
        text = "\n".join(_lines(messages, excerpt))
        if len(text) <= max_chars:
            return text
    return cut(text, max_chars, "this part of the conversation did not fit")


def _lines(messages: Iterable[Message], excerpt: int) -> Iterable[str]:
    names: dict[str, str] = {}
    for message in messages:
        for block in message.blocks:
            if isinstance(block, ToolCall):
                names[block.id] = block.name
            line = "" if is_summary_block(block) else _line(block, message.role, names, excerpt)
            if line:
                yield line


def _line(block: Block, role: str, names: dict[str, str], excerpt: int) -> str:
    match block:
        case TextBlock(text):
            return f"{role}: {_excerpt(text, excerpt)}" if text.strip() else ""
        case ToolCall():
            arguments = json.dumps(block.arguments, ensure_ascii=False, default=str)
            return f"{role} calls {block.name}: {_excerpt(arguments, excerpt)}"
        case ToolResultBlock():
            name = names.get(block.call_id, "a tool")
            return f"result of {name}: {_excerpt(block.text, excerpt)}"
        case ImageBlock():
            return f"{role}: (a picture)"
        case ThinkingBlock():
            return ""


def _excerpt(text: str, max_chars: int) -> str:
    return text if len(text) <= max_chars else cut(text, max_chars, "an excerpt")
