"""Splits a history into parts that are kept and parts that may be shortened.

A history is ``head | earlier | the last instruction | work | tail``. Only *earlier* and *work* are
ever changed. A tool call and its result are always in the same part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hookline_hookspecs import Message

from .standin import has_results, is_own, said


@dataclass(frozen=True, slots=True)
class Layout:
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
        if running is None and said(message) and not has_results(message):
            return index
    return len(history)


def lay_out(
    history: Sequence[Message],
    instruction: int,
    keep_head: int,
    head_room: int,
    tail_room: int,
    weigh: Callable[[Message], int],
) -> Layout:
    """Return where the parts begin and end.

    Args:
        history: all messages.
        instruction: index of the last instruction.
        keep_head: most messages of the head.
        head_room: most characters of the head.
        tail_room: most characters of the tail; the newest message and what it answers always stay.
        weigh: the characters of a message.
    """
    weights = [weigh(message) for message in history]
    tail = _tail(history, weights, tail_room)
    head = min(_head(history, weights, min(keep_head, instruction), head_room), tail)
    return Layout(range(head, max(head, min(tail, instruction))), range(instruction + 1, tail))


def _is_border(history: Sequence[Message], index: int) -> bool:
    return not (has_results(history[index]) or (index and history[index - 1].tool_calls))


def _head(history: Sequence[Message], weights: Sequence[int], most: int, room: int) -> int:
    for head in range(min(most, len(history) - 1), 0, -1):
        kept = history[:head]
        if any(is_own(block) for message in kept for block in message.blocks):
            # A summary kept in the head would never be merged into a newer one.
            return 0
        if _is_border(history, head) and sum(weights[:head]) <= room:
            return head
    return 0


def _tail(history: Sequence[Message], weights: Sequence[int], room: int) -> int:
    tail = len(history)
    weight = 0
    for index in reversed(range(len(history))):
        weight += weights[index]
        if weight > room and tail < len(history):
            break
        if _is_border(history, index):
            tail = index
    return tail
