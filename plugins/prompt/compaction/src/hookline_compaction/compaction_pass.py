"""One pass over a history: prunes, summarises and measures what that frees."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from hookline_hookspecs import Block, Message, Rewrite

from .history_parts import HistoryParts, last_instruction, split_history
from .prune import prune
from .summary_messages import (
    EARLIER_HEADING,
    WORK_HEADING,
    build_summary_messages,
    instruction_blocks,
    is_summary_block,
    pinned_blocks,
)
from .token_estimate import count_block_chars

Summarise: TypeAlias = Callable[[Sequence[Message]], Awaitable[str]]
"""Makes a summary of some messages. Raises :class:`SummaryFailed`."""


MIN_SUMMARISED_CHARS = 200
"""Parts with fewer characters are not summarised, unless that makes the messages fewer."""


class SummaryFailed(Exception):
    """No usable summary was made; the text says why."""


@dataclass(frozen=True, slots=True)
class PassLimits:
    """What a pass has to free and what it must keep. Sizes are in characters.

    ``target_chars``: the history is small enough at this size. ``max_head_chars`` and
    ``max_tail_chars``: the most that head and tail may have. ``keep_heads``: how many messages to
    keep at the beginning; the next number is tried if one allows no change. ``min_new_chars``: a
    part that gained less than this since its last summary is not summarised. ``min_freed_chars``:
    a pass that frees less changes nothing. ``summary_allowance``: a summary may be this long even
    if what it replaces is shorter.
    """

    target_chars: int
    max_head_chars: int
    max_tail_chars: int
    keep_heads: tuple[int, ...]
    min_new_chars: int
    min_freed_chars: int
    summary_allowance: int


@dataclass(frozen=True, slots=True)
class PassResult:
    """The changes of a pass, none if it was ineffective, and the characters of the messages before
    and after."""

    changes: tuple[Rewrite, ...]
    before: int
    after: int


class CompactionPass:
    """A pass over ``history``; ``running`` is the message that began the current turn, if any."""

    def __init__(
        self,
        history: Sequence[Message],
        running: Message | None,
        prune_min_chars: int,
        count_chars: Callable[[Message], int],
        summarise: Summarise,
    ) -> None:
        self._history = history
        self._running = running
        self._instruction = last_instruction(history, running)
        self._prune_min_chars = prune_min_chars
        self._count_chars = count_chars
        self._summarise = summarise
        self.total_chars = sum(map(count_chars, history))

    async def run(self, limits: PassLimits) -> PassResult:
        """Prune, then summarise as far as ``limits`` requires.

        Raises:
            SummaryFailed: no summary could be made; nothing may be changed.
        """
        changes: list[Rewrite] = []
        for keep_head in limits.keep_heads:
            changes = changes or await self._changes(self._parts(keep_head, limits), limits)
        changes = changes or self._drop_old_contexts()
        after = self._chars_after(changes)
        if not changes or self.total_chars - after < limits.min_freed_chars:
            return PassResult((), self.total_chars, self.total_chars)
        return PassResult(tuple(changes), self.total_chars, after)

    def _parts(self, keep_head: int, limits: PassLimits) -> HistoryParts:
        return split_history(
            self._history,
            self._instruction,
            keep_head,
            limits.max_head_chars,
            limits.max_tail_chars,
            self._count_chars,
        )

    async def _changes(self, parts: HistoryParts, limits: PassLimits) -> list[Rewrite]:
        indexes = (*parts.earlier, *parts.work)
        changes = prune(self._history, indexes, self._prune_min_chars)
        for part, heading, keep in (
            (parts.earlier, EARLIER_HEADING, pinned_blocks),
            (parts.work, WORK_HEADING, instruction_blocks),
        ):
            if self._chars_after(changes) <= limits.target_chars:
                break
            summary = await self._summarise_part(part, heading, keep, limits)
            if summary is not None:
                outside = [change for change in changes if change.start not in part]
                changes = [*outside, summary]
        return changes

    async def _summarise_part(
        self,
        part: range,
        heading: str,
        keep: Callable[[Sequence[Message]], list[Block]],
        limits: PassLimits,
    ) -> Rewrite | None:
        messages = self._history[part.start : part.stop]
        kept = keep(messages)
        if not self._is_worth_summarising(part, messages, kept, limits):
            return None
        summary = await self._summarise(messages)
        new = build_summary_messages(heading, summary, kept, *self._neighbours(part))
        old_chars = self._chars_without_context(messages)
        new_chars = sum(map(self._count_chars, new))
        if new_chars >= max(old_chars, limits.summary_allowance + count_block_chars(kept)):
            raise SummaryFailed("the summary is longer than what it should replace")
        return Rewrite(part.start, part.stop, new)

    def _is_worth_summarising(
        self, part: range, messages: Sequence[Message], kept: Sequence[Block], limits: PassLimits
    ) -> bool:
        old_summaries = count_block_chars(
            block for m in messages for block in m.blocks if is_summary_block(block)
        )
        new_chars = self._chars_without_context(messages) - old_summaries - count_block_chars(kept)
        length = len(build_summary_messages("", "", kept, *self._neighbours(part)))
        min_chars = limits.min_new_chars
        if length >= len(part):
            min_chars = max(min_chars, MIN_SUMMARISED_CHARS)
        return length <= len(part) and new_chars >= min_chars

    def _neighbours(self, part: range) -> tuple[str | None, str | None]:
        before = self._history[part.start - 1].role if part.start else None
        return before, self._history[part.stop].role if part.stop < len(self._history) else None

    def _chars_without_context(self, messages: Sequence[Message]) -> int:
        return sum(self._count_chars(message) - len(message.context) for message in messages)

    def _drop_old_contexts(self) -> list[Rewrite]:
        """Return a change that changes no message, because any change drops old context blocks."""
        old = [m for m in self._history if m.context and m is not self._running]
        if not old or self._history[0] is self._running:
            return []
        return [Rewrite(0, 1, (self._history[0],))]

    def _chars_after(self, changes: Sequence[Rewrite]) -> int:
        """Return the characters of the history after ``changes``. The context blocks of earlier
        turns do not count, because any change drops them."""
        chars = 0
        for message in apply_changes(self._history, changes):
            chars += self._count_chars(message)
            if message is not self._running:
                chars -= len(message.context)
        return chars


def apply_changes(history: Sequence[Message], changes: Sequence[Rewrite]) -> list[Message]:
    """Return the history with ``changes`` applied."""
    messages = list(history)
    for change in sorted(changes, key=lambda change: change.start, reverse=True):
        messages[change.start : change.stop] = change.messages
    return messages


def reapply_request_changes(
    old: Sequence[Message],
    requested: Sequence[Message],
    changes: Sequence[Rewrite],
    new: Sequence[Message],
) -> tuple[Message, ...]:
    """Return the ``new`` history with the changes that other plugins made for this one request.

    ``requested`` are the request's messages in place of the ``old`` history. Changes of messages
    that stay, such as a redaction, are applied again.
    """
    if len(requested) != len(old):
        return tuple(new)
    by_start = {change.start: change for change in changes}
    result: list[Message] = []
    index = 0
    while index < len(old):
        change = by_start.get(index)
        if change is not None:
            result += new[len(result) : len(result) + len(change.messages)]
            index = change.stop
            continue
        message = new[len(result)]
        if requested[index] is not old[index]:
            message = replace(requested[index], context=message.context)
        result.append(message)
        index += 1
    return tuple(result)
