"""Replaces old tool results by stubs that name the tool and the size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from hookline_hookspecs import Block, Message, Rewrite, ToolResultBlock

NAME_CHARS = 64
"""Characters of a tool's name in a stub; the name may be invented by a model."""


def prune(history: Sequence[Message], where: Iterable[int], min_chars: int) -> list[Rewrite]:
    """Return one change for each message of ``where`` with a result of ``min_chars`` or more."""
    changes = []
    for index in where:
        message = history[index]
        names = {call.id: call.name for call in history[index - 1].tool_calls} if index else {}
        blocks = tuple(_stub(block, names, min_chars) for block in message.blocks)
        if blocks != message.blocks:
            changes.append(Rewrite(index, index + 1, (replace(message, blocks=blocks),)))
    return changes


def _stub(block: Block, names: dict[str, str], min_chars: int) -> Block:
    if not isinstance(block, ToolResultBlock):
        return block
    if len(block.text) < min_chars and not block.images:
        return block
    name = names.get(block.call_id, "")[:NAME_CHARS] or "a tool"
    pictures = f" and {len(block.images)} picture(s)" if block.images else ""
    text = f"[Old result of {name} left out: {len(block.text)} characters{pictures}]"
    return ToolResultBlock(block.call_id, text, block.ok)
