"""The messages that replace a summarised part of a conversation, and how to recognise them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from hookline_hookspecs import Block, ImageBlock, Message, TextBlock, ToolResultBlock

EARLIER_HEADING = "[Summary of the earlier conversation]"
WORK_HEADING = "[Summary of the work on the message above, so far]"
ACKNOWLEDGED = "Understood. I go on from this summary."
CONTINUE_NOTE = "[Go on from this summary.]"

_HEADINGS = (EARLIER_HEADING, WORK_HEADING)
_PIN = re.compile(r"^[ \t]*PIN:", re.MULTILINE)


def summary_in(block: Block) -> str | None:
    """Return the summary in a block, without its heading."""
    if isinstance(block, TextBlock):
        for heading in _HEADINGS:
            if block.text.startswith(heading):
                return block.text[len(heading) :].strip()
    return None


def is_summary_block(block: Block) -> bool:
    """Return whether this plugin wrote the block in an earlier pass."""
    return summary_in(block) is not None or block in (
        TextBlock(ACKNOWLEDGED),
        TextBlock(CONTINUE_NOTE),
    )


def has_results(message: Message) -> bool:
    """Return whether the message answers tool calls."""
    return any(isinstance(block, ToolResultBlock) for block in message.blocks)


def user_blocks(message: Message) -> tuple[Block, ...]:
    """Return the texts and pictures from a person in a message, without results and summaries."""
    if message.role != "user":
        return ()
    return tuple(
        block
        for block in message.blocks
        if isinstance(block, TextBlock | ImageBlock) and not is_summary_block(block)
    )


def is_pinned(message: Message) -> bool:
    """Return whether the person pinned the message: a line of it starts with ``PIN:``."""
    texts = (block.text for block in user_blocks(message) if isinstance(block, TextBlock))
    return any(_PIN.search(text) for text in texts)


def pinned_blocks(messages: Iterable[Message]) -> list[Block]:
    """Return what a person wrote in the pinned ones of ``messages``."""
    return [block for message in messages if is_pinned(message) for block in user_blocks(message)]


def instruction_blocks(messages: Iterable[Message]) -> list[Block]:
    """Return everything that a person wrote in ``messages``."""
    return [block for message in messages for block in user_blocks(message)]


def build_summary_messages(
    heading: str, summary: str, kept: Sequence[Block], before: str | None, after: str | None
) -> tuple[Message, ...]:
    """Return messages that hold a summary and what is ``kept`` verbatim.

    ``before`` and ``after`` are the roles of the neighbours, None at the end of the history;
    roles alternate across both seams.
    """
    text = TextBlock(f"{heading}\n\n{summary.strip()}")
    if before != "user":
        messages = [Message("user", (text, *kept))]
    elif kept or after == "assistant":
        messages = [
            Message("assistant", (text,)),
            Message("user", (TextBlock(CONTINUE_NOTE), *kept)),
        ]
    else:
        messages = [Message("assistant", (text,))]
    if messages[-1].role == after == "user":
        messages.append(Message.assistant(ACKNOWLEDGED))
    return tuple(messages)
