"""Splits a history into parts that are kept and parts that may be shortened.

A history is ``head | earlier | the last instruction | work | tail``. Only *earlier* and *work* are
ever changed. A tool call and its result are always in the same part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hookline_hookspecs import Message

from .summary_messages import has_results, is_summary_block, user_blocks


@dataclass(frozen=True, slots=True)
class HistoryParts:
    """Ranges of indexes; ``earlier`` and ``work`` may be empty."""

    earlier: range
    work: range


def last_instruction(history: Sequence[Message], running: Message | None) -> int:
    """Return the index of the ``running`` turn's own message, or of a person's last message; the
    length of the history if there is none.
    """
    for index in reversed(range(len(history))):
        message = history[index]
        if message is running:
            return index
        if running is None and user_blocks(message) and not has_results(message):
            return index
    return len(history)


def split_history(
    history: Sequence[Message],
    instruction: int,
    keep_head: int,
    max_head_chars: int,
    max_tail_chars: int,
    count_chars: Callable[[Message], int],
) -> HistoryParts:
    """Return where the parts begin and end.

    Args:
        history: all messages.
        instruction: index of the last instruction.
        keep_head: most messages of the head.
        max_head_chars: most characters of the head.
        max_tail_chars: most characters of the tail; the newest message and what it answers are
            always part of the tail.
        count_chars: counts the characters of a message.
    """
    sizes = [count_chars(message) for message in history]
    tail = _tail(history, sizes, max_tail_chars)
    head = min(_head(history, sizes, min(keep_head, instruction), max_head_chars), tail)
    return HistoryParts(
        range(head, max(head, min(tail, instruction))), range(instruction + 1, tail)
    )


def _is_border(history: Sequence[Message], index: int) -> bool:
    return not (has_results(history[index]) or (index and history[index - 1].tool_calls))


def _head(
    history: Sequence[Message], sizes: Sequence[int], max_messages: int, max_chars: int
) -> int:
    for head in range(min(max_messages, len(history) - 1), 0, -1):
        kept = history[:head]
        if any(is_summary_block(block) for message in kept for block in message.blocks):
            # A summary kept in the head would never be merged into a newer one.
            return 0
        if _is_border(history, head) and sum(sizes[:head]) <= max_chars:
            return head
    return 0


def _tail(history: Sequence[Message], sizes: Sequence[int], max_chars: int) -> int:
    tail = len(history)
    chars = 0
    for index in reversed(range(len(history))):
        chars += sizes[index]
        if chars > max_chars and tail < len(history):
            break
        if _is_border(history, index):
            tail = index
    return tail
