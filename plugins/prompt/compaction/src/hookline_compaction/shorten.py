"""One pass over a history: prunes, summarises and measures what that frees."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from hookline_hookspecs import Block, Message, Rewrite

from .layout import Layout, last_instruction, lay_out
from .prune import prune
from .standin import EARLIER, WORK, instructions, is_own, pinned, stand_in
from .weight import weigh_blocks

Summarise: TypeAlias = Callable[[Sequence[Message]], Awaitable[str]]
"""Makes a summary of some messages. Raises :class:`SummaryFailed`."""


FEW = 200
"""Parts with fewer characters are not summarised, unless that makes the messages fewer."""


class SummaryFailed(Exception):
    """No usable summary was made; the text says why."""


@dataclass(frozen=True, slots=True)
class Aim:
    """What a pass is for. All numbers are characters.

    ``goal``: at this weight enough is freed. ``head_room`` and ``tail_room``: the most that head
    and tail may weigh. ``heads``: how many messages to keep at the beginning; the next number is
    tried where one leaves nothing to do. ``least_new``: a part with less than this that was never
    summarised is left alone. ``least_freed``: a pass that frees less changes nothing. ``allowed``:
    a summary may be this long even if what it replaces is shorter.
    """

    goal: int
    head_room: int
    tail_room: int
    heads: tuple[int, ...]
    least_new: int
    least_freed: int
    allowed: int


@dataclass(frozen=True, slots=True)
class Result:
    """The changes of a pass, none if it was ineffective, and the messages' weight before and
    after."""

    changes: tuple[Rewrite, ...]
    before: int
    after: int


class Pass:
    """A pass over ``history``; ``running`` is the message that began the current turn, if any."""

    def __init__(
        self,
        history: Sequence[Message],
        running: Message | None,
        prune_min_chars: int,
        weigh: Callable[[Message], int],
        summarise: Summarise,
    ) -> None:
        self._history = history
        self._running = running
        self._instruction = last_instruction(history, running)
        self._prune_min_chars = prune_min_chars
        self._weigh = weigh
        self._summarise = summarise
        self.weight = sum(map(weigh, history))

    async def run(self, aim: Aim) -> Result:
        """Prune, then summarise as far as ``aim`` requires.

        Raises:
            SummaryFailed: nothing is to be changed.
        """
        changes: list[Rewrite] = []
        for keep_head in aim.heads:
            changes = changes or await self._changes(self._layout(keep_head, aim), aim)
        changes = changes or self._forget_contexts()
        after = self._weight_after(changes)
        if not changes or self.weight - after < aim.least_freed:
            return Result((), self.weight, self.weight)
        return Result(tuple(changes), self.weight, after)

    def _layout(self, keep_head: int, aim: Aim) -> Layout:
        rooms = aim.head_room, aim.tail_room
        return lay_out(self._history, self._instruction, keep_head, *rooms, self._weigh)

    async def _changes(self, layout: Layout, aim: Aim) -> list[Rewrite]:
        where = (*layout.earlier, *layout.work)
        changes = prune(self._history, where, self._prune_min_chars)
        for part, heading, keep in (
            (layout.earlier, EARLIER, pinned),
            (layout.work, WORK, instructions),
        ):
            if self._weight_after(changes) <= aim.goal:
                break
            summarised = await self._summarised(part, heading, keep, aim)
            if summarised is not None:
                outside = [one for one in changes if one.start not in part]
                changes = [*outside, summarised]
        return changes

    async def _summarised(
        self, part: range, heading: str, keep: Callable[[Sequence[Message]], list[Block]], aim: Aim
    ) -> Rewrite | None:
        messages = self._history[part.start : part.stop]
        kept = keep(messages)
        if not self._is_worth_it(part, messages, kept, aim):
            return None
        summary = await self._summarise(messages)
        new = stand_in(heading, summary, kept, *self._neighbours(part))
        weight, old = sum(map(self._weigh, new)), self._bare_weight(messages)
        if weight >= max(old, aim.allowed + weigh_blocks(kept)):
            raise SummaryFailed("the summary is longer than what it was to replace")
        return Rewrite(part.start, part.stop, new)

    def _is_worth_it(
        self, part: range, messages: Sequence[Message], kept: Sequence[Block], aim: Aim
    ) -> bool:
        own = weigh_blocks(block for m in messages for block in m.blocks if is_own(block))
        new = self._bare_weight(messages) - own - weigh_blocks(kept)
        length = len(stand_in("", "", kept, *self._neighbours(part)))
        least = aim.least_new if length < len(part) else max(aim.least_new, FEW)
        return length <= len(part) and new >= least

    def _neighbours(self, part: range) -> tuple[str | None, str | None]:
        before = self._history[part.start - 1].role if part.start else None
        return before, self._history[part.stop].role if part.stop < len(self._history) else None

    def _bare_weight(self, messages: Sequence[Message]) -> int:
        return sum(self._weigh(message) - len(message.context) for message in messages)

    def _forget_contexts(self) -> list[Rewrite]:
        """Return a change that changes no message, because any change drops old context blocks."""
        old = [m for m in self._history if m.context and m is not self._running]
        if not old or self._history[0] is self._running:
            return []
        return [Rewrite(0, 1, (self._history[0],))]

    def _weight_after(self, changes: Sequence[Rewrite]) -> int:
        """Return the messages without the context blocks of earlier turns, which any change
        drops."""
        weight = 0
        for message in rewritten(self._history, changes):
            weight += self._weigh(message)
            if message is not self._running:
                weight -= len(message.context)
        return weight


def rewritten(history: Sequence[Message], changes: Sequence[Rewrite]) -> list[Message]:
    """Return the history with ``changes`` applied."""
    messages = list(history)
    for change in sorted(changes, key=lambda one: one.start, reverse=True):
        messages[change.start : change.stop] = change.messages
    return messages


def carried_over(
    old: Sequence[Message],
    shown: Sequence[Message],
    changes: Sequence[Rewrite],
    new: Sequence[Message],
) -> tuple[Message, ...]:
    """Return the ``new`` history with the changes that other plugins made for this one request.

    ``shown`` is what the request held in place of the ``old`` history. Changes of messages that
    stay, such as a redaction, are applied again.
    """
    if len(shown) != len(old):
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
        if shown[index] is not old[index]:
            message = replace(shown[index], context=message.context)
        result.append(message)
        index += 1
    return tuple(result)
