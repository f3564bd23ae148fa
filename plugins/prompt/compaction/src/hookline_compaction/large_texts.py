"""Cuts a single text that is too large for the conversation to its head and its tail.

The stored message is unchanged. The cut depends only on the text and the allowed length, so that
each request sends the same bytes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeAlias

from hookline_hookspecs import Block, HooklineError, Message, TextBlock, ToolResultBlock

from .summary_messages import is_pinned, is_summary_block
from .token_estimate import count_chars

HEAD_SHARE = 0.7
"""The share of the shown text that comes from the beginning; the rest comes from the end."""

_NO_ARTIFACT_HINT = "the text is too large for this conversation; ask for the part you need"


StoreText: TypeAlias = Callable[[str], Awaitable[str]]
"""Stores a text for the model's tool ``fetch_artifact`` and returns its id."""


def count_sent_chars(message: Message, max_chars: int) -> int:
    """Return the characters of a message as sent if each text may have ``max_chars``."""
    chars = count_chars(message)
    if chars > max_chars and is_too_large(message, max_chars):
        chars -= sum(_excess(block, max_chars) for block in message.blocks)
    return chars


def is_too_large(message: Message, max_chars: int) -> bool:
    """Return whether a text of a user message that is not pinned has more than ``max_chars``
    characters."""
    if message.role != "user" or not any(_excess(block, max_chars) for block in message.blocks):
        return False
    return not is_pinned(message)


def _excess(block: Block, max_chars: int) -> int:
    if not isinstance(block, TextBlock | ToolResultBlock) or is_summary_block(block):
        return 0
    return max(0, len(block.text) - max_chars)


async def cut_large_texts(
    message: Message, max_chars: int, store_text: StoreText | None
) -> Message:
    """Return the message with each text cut to ``max_chars`` characters."""
    if not is_too_large(message, max_chars):
        return message
    key = ("hookline-compaction", max_chars)
    cut_message: Message | None = message.wire.get(key)
    if cut_message is None:
        blocks = [await _cut_block(block, max_chars, store_text) for block in message.blocks]
        cut_message = message.wire[key] = replace(message, blocks=tuple(blocks))
    return cut_message


async def _cut_block(block: Block, max_chars: int, store_text: StoreText | None) -> Block:
    if not isinstance(block, TextBlock | ToolResultBlock) or not _excess(block, max_chars):
        return block
    hint = await _hint(block.text, store_text)
    return replace(block, text=cut(block.text, max_chars, hint))


async def _hint(text: str, store_text: StoreText | None) -> str:
    if store_text is None:
        return _NO_ARTIFACT_HINT
    try:
        return f'fetch_artifact(id="{await store_text(text)}")'
    except HooklineError:
        return _NO_ARTIFACT_HINT


def cut(text: str, max_chars: int, hint: str) -> str:
    """Return the head and the tail of a longer text, together ``max_chars`` characters, with a
    marker between them."""
    head = int(max_chars * HEAD_SHARE)
    tail = max_chars - head
    left_out = len(text) - max_chars
    return f"{text[:head]}\n[… {left_out} characters left out; {hint}]\n{text[len(text) - tail :]}"
