"""Records the steps of turns while they run, limited in size and with secrets masked.

``Recorder.observe`` is called after each step, inner steps before those that enclose them.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field

from hookline_hookspecs import Context, Session, Step

from .recorded_step import RecordedStep, record_step
from .trace_masking import mask_text

STASH_KEY = "trace"
MAX_EARLY_KEYS, MAX_OPEN_TURNS = 100, 500
"""Messages before their turn, and turns in progress, that are kept in memory."""
EARLY_HOOKS = ("on_message", "start_of_session", "system_prompt")
"""Hooks that run before their turn has begun."""


@dataclass(slots=True)
class Recording:
    """The steps of one turn so far. ``at`` is Unix time in seconds."""

    turn_id: str
    session: Session
    ctx: Context
    at: float
    steps: list[RecordedStep] = field(default_factory=list)
    left_out: int = 0
    stop: str = ""
    reason: str = ""
    unsaved: bool = False
    last: dict[int, Step] = field(default_factory=dict)
    """The newest step around a call, by task; middleware encloses it."""


class Recorder:
    """Watches every turn of the process.

    Args:
        steps: maximal number of steps to keep of a turn.
        chars: maximal number of characters to keep of a text.
        channels: channels whose turns are recorded; None for all.
    """

    def __init__(self, steps: int, chars: int, channels: set[str] | None = None) -> None:
        self.channels = channels
        self._max_steps = steps
        self._chars = chars
        self._open: OrderedDict[str, Recording] = OrderedDict()
        self._early: OrderedDict[Hashable, list[RecordedStep]] = OrderedDict()

    def observe(self, ctx: Context | None, step: Step) -> None:
        """Record a step of the turn of ``ctx``, or of the turn that will follow."""
        if ctx is None or not self._is_recorded(ctx):
            return
        recording = self._recording_of(ctx)
        if recording is None:
            self._keep_early(ctx, step)
            return
        task = id(asyncio.current_task())
        inner = recording.last.get(task)
        if step.kind == "around" or step.plugin == "core":
            recording.last[task] = step
        if len(recording.steps) >= self._max_steps:
            recording.left_out += 1
            return
        recording.steps.append(record_step(ctx, step, inner, task, self._chars))
        recording.unsaved = True

    def _is_recorded(self, ctx: Context) -> bool:
        return self.channels is None or ctx.channel in self.channels

    def ended(self, ctx: Context) -> Recording | None:
        """The recording of a turn that has ended; later steps may still be added."""
        recording = self._recording_of(ctx) if self._is_recorded(ctx) else None
        if recording is not None:
            self._note_end(recording)
            recording.unsaved = False
        return recording

    def close(self, turn_id: str) -> Recording | None:
        """Forget a turn; return its recording if some steps are not stored yet."""
        recording = self._open.pop(turn_id, None)
        return recording if recording is not None and recording.unsaved else None

    def close_all(self) -> list[Recording]:
        """Forget all turns; return the recordings that are not stored yet."""
        closed = [self.close(turn_id) for turn_id in list(self._open)]
        unsaved = [recording for recording in closed if recording is not None]
        for recording in unsaved:
            self._note_end(recording)
        return unsaved

    def _note_end(self, recording: Recording) -> None:
        turn = recording.ctx.turn
        recording.stop = turn.stop
        recording.reason = mask_text(turn.reply, self._chars) if turn.stop == "error" else ""

    def _recording_of(self, ctx: Context) -> Recording | None:
        stash = ctx.stash
        found: Recording | None = stash.get(STASH_KEY)
        if found is not None:
            return found
        turn = ctx.turn
        if not turn.id:
            return None
        found = stash[STASH_KEY] = Recording(turn.id, ctx.session, ctx, ctx.host.now())
        message = (turn.inbound.channel, turn.inbound.message_id)
        for key in (message, turn.session.id):
            found.steps += self._early.pop(key, ())
        self._open[turn.id] = found
        if len(self._open) > MAX_OPEN_TURNS:
            self._open.popitem(last=False)
        return found

    def _keep_early(self, ctx: Context, step: Step) -> None:
        if step.hook not in EARLY_HOOKS:
            return
        inbound = step.event if step.hook == "on_message" else None
        key = (inbound.channel, inbound.message_id) if inbound is not None else ctx.session.id
        steps = self._early.setdefault(key, [])
        if len(steps) < self._max_steps:
            steps.append(record_step(ctx, step, None, id(asyncio.current_task()), self._chars))
        if len(self._early) > MAX_EARLY_KEYS:
            self._early.popitem(last=False)
