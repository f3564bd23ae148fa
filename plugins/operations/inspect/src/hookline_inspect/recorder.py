"""Records the steps of turns while they run: what a tree is made of, bounded and without secrets.

``Recorder.observe`` is called after each step, inner steps before those that enclose them.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field

from hookline_hookspecs import Context, Session, Step

from .masking import masked
from .step import Seen, see

STASH = "trace"
WAITING, OPEN = 100, 500
"""Messages and turns that are remembered before they are stored, or never are."""
EARLY = ("on_message", "start_of_session", "system_prompt")
"""Hooks that run before the turn they belong to has begun."""


@dataclass(slots=True)
class Recording:
    """The steps of one turn so far. ``at`` is Unix time in seconds."""

    turn_id: str
    session: Session
    ctx: Context
    at: float
    steps: list[Seen] = field(default_factory=list)
    left_out: int = 0
    stop: str = ""
    reason: str = ""
    unsaved: bool = False
    last: dict[int, Step] = field(default_factory=dict)
    """The newest step around a call, by task: what middleware encloses."""


class Recorder:
    """Watches every turn of the process.

    Args:
        steps: steps of a turn that are kept at most.
        chars: characters of a text that are kept at most.
        channels: whose turns are recorded; None for all.
    """

    def __init__(self, steps: int, chars: int, channels: set[str] | None = None) -> None:
        self.channels = channels
        self._most = steps
        self._chars = chars
        self._open: OrderedDict[str, Recording] = OrderedDict()
        self._early: OrderedDict[Hashable, list[Seen]] = OrderedDict()

    def observe(self, ctx: Context | None, step: Step) -> None:
        """Take a step down; it belongs to the turn of ``ctx``, or to the one it leads to."""
        if ctx is None or not self._follows(ctx):
            return
        recording = self._of(ctx)
        if recording is None:
            self._keep_early(ctx, step)
            return
        task = id(asyncio.current_task())
        inner = recording.last.get(task)
        if step.kind == "around" or step.plugin == "core":
            recording.last[task] = step
        if len(recording.steps) >= self._most:
            recording.left_out += 1
            return
        recording.steps.append(see(ctx, step, inner, task, self._chars))
        recording.unsaved = True

    def _follows(self, ctx: Context) -> bool:
        return self.channels is None or ctx.channel in self.channels

    def ended(self, ctx: Context) -> Recording | None:
        """The recording of a turn that is over, to be stored; steps may still be added."""
        recording = self._of(ctx) if self._follows(ctx) else None
        if recording is not None:
            self._note_end(recording)
            recording.unsaved = False
        return recording

    def close(self, turn_id: str) -> Recording | None:
        """Forget a turn; its recording, if it has steps that were not stored."""
        recording = self._open.pop(turn_id, None)
        return recording if recording is not None and recording.unsaved else None

    def close_all(self) -> list[Recording]:
        """Forget every turn; the recordings that are not stored."""
        closed = [self.close(turn_id) for turn_id in list(self._open)]
        unsaved = [recording for recording in closed if recording is not None]
        for recording in unsaved:
            self._note_end(recording)
        return unsaved

    def _note_end(self, recording: Recording) -> None:
        turn = recording.ctx.turn
        recording.stop = turn.stop
        recording.reason = masked(turn.reply, self._chars) if turn.stop == "error" else ""

    def _of(self, ctx: Context) -> Recording | None:
        stash = ctx.stash
        found: Recording | None = stash.get(STASH)
        if found is not None:
            return found
        turn = ctx.turn
        if not turn.id:
            return None
        found = stash[STASH] = Recording(turn.id, ctx.session, ctx, ctx.host.now())
        message = (turn.inbound.channel, turn.inbound.message_id)
        for key in (message, turn.session.id):
            found.steps += self._early.pop(key, ())
        self._open[turn.id] = found
        if len(self._open) > OPEN:
            self._open.popitem(last=False)
        return found

    def _keep_early(self, ctx: Context, step: Step) -> None:
        if step.hook not in EARLY:
            return
        inbound = step.event if step.hook == "on_message" else None
        key = (inbound.channel, inbound.message_id) if inbound is not None else ctx.session.id
        steps = self._early.setdefault(key, [])
        if len(steps) < self._most:
            steps.append(see(ctx, step, None, id(asyncio.current_task()), self._chars))
        if len(self._early) > WAITING:
            self._early.popitem(last=False)
