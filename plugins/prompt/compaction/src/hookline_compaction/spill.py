"""Cuts a single text that is too large for the conversation to its head and its tail.

The stored message is unchanged. The cut depends only on the text and the room, so that each request
sends the same bytes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeAlias

from hookline_hookspecs import Block, HooklineError, Message, TextBlock, ToolResultBlock

from .standin import is_own, is_pinned
from .weight import weigh

HEAD_SHARE = 0.7
"""The share of the shown text that comes from the beginning; the rest comes from the end."""

_GONE = "the text is too large for this conversation; ask for the part you need"


Keep: TypeAlias = Callable[[str], Awaitable[str]]
"""Stores a text for the model's tool ``fetch_artifact`` and returns its id."""


def weigh_sent(message: Message, room: int) -> int:
    """Return the characters sent of a message if one text may have ``room``."""
    weight = weigh(message)
    if weight > room and is_too_large(message, room):
        weight -= sum(_excess(block, room) for block in message.blocks)
    return weight


def is_too_large(message: Message, room: int) -> bool:
    """Return whether a text of a user message that is not pinned has more than ``room``
    characters."""
    if message.role != "user" or not any(_excess(block, room) for block in message.blocks):
        return False
    return not is_pinned(message)


def _excess(block: Block, room: int) -> int:
    if not isinstance(block, TextBlock | ToolResultBlock) or is_own(block):
        return 0
    return max(0, len(block.text) - room)


async def fit(message: Message, room: int, keep: Keep | None) -> Message:
    """Return the message as it is sent if one text may have ``room`` characters."""
    if not is_too_large(message, room):
        return message
    key = ("hookline-compaction", room)
    known: Message | None = message.wire.get(key)
    if known is None:
        blocks = [await _cut_block(block, room, keep) for block in message.blocks]
        known = message.wire[key] = replace(message, blocks=tuple(blocks))
    return known


async def _cut_block(block: Block, room: int, keep: Keep | None) -> Block:
    if not isinstance(block, TextBlock | ToolResultBlock) or not _excess(block, room):
        return block
    hint = await _hint(block.text, keep)
    return replace(block, text=cut(block.text, room, hint))


async def _hint(text: str, keep: Keep | None) -> str:
    if keep is None:
        return _GONE
    try:
        return f'fetch_artifact(id="{await keep(text)}")'
    except HooklineError:
        return _GONE


def cut(text: str, room: int, hint: str) -> str:
    """Return the head and the tail of a longer text, together ``room`` characters, and a marker
    between."""
    head = int(room * HEAD_SHARE)
    tail = room - head
    left_out = len(text) - room
    return f"{text[:head]}\n[… {left_out} characters left out; {hint}]\n{text[len(text) - tail :]}"
