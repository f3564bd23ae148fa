"""The way of a message: stored, judged, a command or a turn, one at a time in each chat."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from typing import Any

from hookline_hookspecs import Origin, StoreError, Submission, TextBlock, crash
from hookline_hookspecs.events import Deny, Inbound, Question, Session, Stop, Turn

from .. import clock
from ..bus.bus import GuardFailed
from ..bus.deadline import HookTimeout
from ..engine import Engine
from ..sessions.context import TERMINAL, PluginContext, TurnContext, idle_context
from ..sessions.manager import Sessions
from ..sessions.state import ActiveTurn, Outcome, SessionState, set_question
from ..store.codec import reply_from_json
from ..text import clean, new_id
from ..turn.loop import run_turn
from .commands import Commands, is_command
from .content import inbound_origins, message_blocks
from .lanes import Lane, Lanes
from .outbox import Outbox

log = logging.getLogger("hookline.dispatch")
STORE_PAUSE = 10.0
"""Seconds after which a store that failed is tried again."""
GATE_PAUSES = (1.0, 2.0, 4.0, 8.0, 10.0)
"""Seconds after which a guard that failed because of the store is asked again. While the store is
away none of them is used up."""
UNCHECKED = "Your message could not be checked, so it was not read. Please send it again later."


class Dispatcher:
    """Takes messages from channels and callers and works on them to their end.

    It is the service ``Conversations``. ``recover`` finishes what a dead process left in a session,
    before anything new begins there.
    """

    recover: Callable[[SessionState, str, str], Awaitable[None]]

    def __init__(self, engine: Engine, sessions: Sessions, commands: Commands, outbox: Outbox) -> None:
        self._engine, self._sessions = engine, sessions
        self._commands, self._outbox = commands, outbox
        self.commands, self.reopen = commands.all, sessions.reopen
        self.begin, self.archive = sessions.begin, sessions.archive
        self._lanes = Lanes()
        self.in_hand: set[str] = set()
        """Inbox ids of stored messages that this process is working on."""
        self._waiting: dict[tuple[str, str, str], str] = {}
        """Inbox ids of stored messages that wait for their turn, by channel, chat and message."""

    # In

    async def receive(self, inbound: Inbound) -> bool:
        """Take a channel's message: stored durably when this returns; False for a repeated one."""
        await self._engine.node.join()
        inbound = replace(inbound, text=clean(inbound.text))
        crash.point("after-receive")
        work = self._engine.work
        inbox_id, write = self._engine.journal.receive(inbound, durable=True, mine=not work.is_shared)
        self.in_hand.add(inbox_id)
        stored: int | None = 0
        try:
            stored = await write
        finally:
            if not stored or work.is_shared:
                self.in_hand.discard(inbox_id)
        if stored:
            crash.point("after-commit")
            work.received(inbound.channel, inbound.chat_id, partial(self.answer_stored, inbound, inbox_id))
        return bool(stored)

    async def answer_stored(self, inbound: Inbound, inbox_id: str) -> None:
        """Work on a stored message of a channel and deliver the reply."""
        if self._outbox.channels.get(inbound.channel) is not None and self._engine.sends(inbound.channel):
            self._outbox.direct[inbox_id] = ""
        try:
            turn = await self._process(inbound, inbox_id, "ask")
            await self._outbox.deliver(inbound.channel, inbound.chat_id, turn=turn)
            self.after_reply(turn)
        finally:
            self._outbox.direct.pop(inbox_id, None)
            self.in_hand.discard(inbox_id)
            self._engine.bus.signals.send("settled", inbound)

    async def submit(self, inbound: Inbound, mode: str) -> Submission:
        """Work on a message to its end; the caller shows the reply and confirms it."""
        await self._engine.node.join()
        system = clean(inbound.system) if inbound.system else None
        inbound = replace(inbound, text=clean(inbound.text), system=system)
        turn = await self._process(inbound, None, mode)
        record, rows = turn.state.record, turn.state.pending.unshown
        unshown = tuple([reply_from_json(row["body"], record, row["id"]).text for row in rows])
        return Submission(turn.snapshot(), turn.outcome.question, unshown, partial(self._confirm, turn))

    async def _confirm(self, turn: ActiveTurn) -> None:
        """The caller of :meth:`submit` has shown the reply, and what was unshown before it."""
        crash.point("after-send")
        unshown, turn.state.pending.unshown = turn.state.pending.unshown, []
        sent = turn.outcome.sent
        for reply_id in [*(row["id"] for row in unshown), *([sent.id] if sent else ())]:
            # Not awaited: a process killed before it is stored shows the reply again.
            turn.track_write(self._engine.journal.close_reply(reply_id, "sent"))
        if sent is not None:
            self._engine.bus.signals.send("reply_sent", sent)
        self.after_reply(turn)

    async def withdraw(self, channel: str, chat_id: str, message_id: str) -> bool:
        """Drop a stored message that still waits for its turn; False if there is none."""
        inbox_id = self._waiting.pop((channel, chat_id, message_id), None)
        if inbox_id is not None:
            await self._engine.journal.close_inbound(inbox_id, None, None)
        return inbox_id is not None

    # Through

    async def _process(self, inbound: Inbound, inbox_id: str | None, mode: str) -> ActiveTurn:
        """Gate, then command or turn. One turn at a time in a chat, in the order of arrival."""
        lane = self._lanes.of(inbound)
        # What is for the turn under way does not wait until a guard has judged the message before it.
        async with nullcontext() if lane.turn.locked() and self._is_immediate(inbound.text) else lane.gate:
            lobby = idle_context(self._engine, inbound.channel, inbound.chat_id)
            passed = await self.judge(lobby, inbound, inbox_id)
        # No await stands between the gate and the queue, so messages keep the order of their arrival.
        # A guard's refusal is told at once; that of a guard that failed, in the message's place.
        refused_by_guard = isinstance(passed, Deny) and not isinstance(passed, GuardFailed)
        if refused_by_guard or (not isinstance(passed, Deny) and self._is_immediate(passed.text)):
            return await self._run_immediate(lane, lobby, inbound, passed, inbox_id)
        key = (inbound.channel, inbound.chat_id, inbound.message_id)
        if inbox_id is not None:
            self._waiting[key] = inbox_id
        try:
            async with lane.take_turn():
                if inbox_id is not None and self._waiting.pop(key, None) is None:
                    passed = Deny("")  # withdrawn
                if isinstance(passed, Deny):
                    return await self.close(lobby, inbound, inbox_id, "denied", passed.reason)
                del lobby  # an empty session, for as long as the turn
                return await self._retry_on_store_error(lane, passed, inbox_id, mode)
        finally:
            if inbox_id is not None:
                self._waiting.pop(key, None)

    async def judge(self, ctx: TurnContext, inbound: Inbound, inbox_id: str | None) -> Inbound | Deny:
        """What the gate makes of a message, or its refusal.

        A network channel's message stays stored while a guard fails because of the store, or is
        late: it is asked again after :data:`GATE_PAUSES`, after every other one if it was late, and
        only then is the answer no.
        """
        is_network, pauses = inbound.channel != TERMINAL, [*GATE_PAUSES]

        async def again(error: BaseException) -> bool:
            if not (is_network and inbox_id and pauses and isinstance(error, (StoreError, HookTimeout))):
                return False
            await asyncio.sleep(pauses[0])
            with suppress(StoreError):
                await self._engine.journal.session("")
                del pauses[: 1 + isinstance(error, HookTimeout)]
            return True

        decision = await self._engine.bus.guard("on_message", ctx, inbound, again)
        if is_network and isinstance(decision.verdict, GuardFailed):
            return replace(decision.verdict, reason=UNCHECKED)
        return decision.verdict if isinstance(decision.verdict, Deny) else decision.event

    def _is_immediate(self, text: str) -> bool:
        return bool((found := self._commands.find(text)) and found[1].immediate)

    async def _run_immediate(
        self, lane: Lane, lobby: TurnContext, inbound: Inbound, passed: Inbound | Deny, inbox_id: str | None
    ) -> ActiveTurn:
        """Refuse a message, or run a command that does not wait for the turn under way."""
        if isinstance(passed, Deny):
            return await self.close(lobby, inbound, inbox_id, "denied", passed.reason)
        state = lane.state
        if state is None and (session_id := await self._sessions.find(passed)) is not None:
            state = await self._sessions.peek(session_id)
        ctx = lobby if state is None else TurnContext(self._engine, state, state.active)
        return await self.close(ctx, passed, inbox_id, "command", await self._commands.run(ctx, passed))

    async def _retry_on_store_error(self, lane: Lane, inbound: Inbound, inbox_id: str | None, mode: str) -> ActiveTurn:
        """Work on a network channel's message until the store works; the chat's others wait."""
        again = False
        while True:
            try:
                return await self._process_in_session(lane, inbound, inbox_id, mode, again)
            except StoreError as error:
                if inbox_id is None or inbound.channel == TERMINAL:
                    raise
                log.error("a message by %s waits for the store: %s", inbound.channel, error)
            except asyncio.CancelledError:
                if not lane.given_up or (task := lane.entering) is None or task.uncancel():
                    raise
                lobby = idle_context(self._engine, inbound.channel, inbound.chat_id)
                return await self.close(lobby, inbound, inbox_id, "command", "Stopped.")
            finally:
                lane.entering, lane.given_up = None, False
            again = True
            self._outbox.direct.pop(inbox_id, None)  # a turn that is resumed leaves its reply in the outbox
            await asyncio.sleep(STORE_PAUSE)

    async def _process_in_session(
        self, lane: Lane, inbound: Inbound, inbox_id: str | None, mode: str, again: bool
    ) -> ActiveTurn:
        lane.entering = asyncio.current_task()
        async with self._sessions.enter(inbound) as (state, known):
            lane.entering, lane.state = None, state
            try:
                await self.recover(state, mode, inbound.channel)
                if again:  # what the store had kept of it was finished by the recovery
                    known = inbox_id not in [row["id"] for row in await self._engine.journal.open_inbox()]
                if known and (again or inbox_id is None):
                    turn = ActiveTurn.begin(idle_context(self._engine).state, inbound, None, mode)
                    turn.outcome.stop = "denied"
                    return turn
                inbox_id = inbox_id or await self._store_inbound(state, inbound)
                return await self.work(state, inbound, inbox_id, mode)
            finally:
                lane.state = None

    async def _store_inbound(self, state: SessionState, inbound: Inbound) -> str:
        """Store a message of :meth:`submit`; its turn waits for the write.

        The session's owner does it, so that a message which still waits for the session is not
        there for others to find. It has to survive the death of the process, not a power cut:
        nobody is told that it was taken before the answer, whose commit is durable.
        """
        crash.point("after-receive")
        inbox_id, write = self._engine.journal.receive(inbound, durable=False)
        state.pending.writes.append(write)
        if crash.armed("after-commit"):
            await write
        crash.point("after-commit")
        return inbox_id

    async def work(
        self, state: SessionState, inbound: Inbound, inbox_id: str | None, mode: str, *, left_over: bool = False
    ) -> ActiveTurn:
        """Run a message in a session that the caller owns: a command or a turn."""
        if is_command(inbound.text):
            ctx = TurnContext(self._engine, state, mode=mode)
            await self._sessions.store(state)
            said = await self._commands.run(ctx, inbound)
            if state.pending.rerun is None:
                return await self.close(ctx, inbound, inbox_id, "command", said, left_over=left_over)
            inbound, state.pending.rerun = state.pending.rerun, None
        turn = ActiveTurn.begin(state, inbound, inbox_id, mode)
        turn.left_over = left_over
        if inbox_id in self._outbox.direct:
            turn.direct = True
            self._outbox.direct[inbox_id] = turn.id
        return await self._run(turn)

    async def _run(self, turn: ActiveTurn) -> ActiveTurn:
        state = turn.state
        blocks = await message_blocks(TurnContext(self._engine, state, turn), turn.inbound)
        if state.question is not None:
            await set_question(self._engine.journal, state, None)
        try:
            await run_turn(self._engine, turn, blocks)
        except BaseException:
            # Memory and store may differ now; the next message reads the store.
            self._sessions.forget(state.record.id)
            raise
        return turn

    async def close(
        self,
        ctx: TurnContext,
        inbound: Inbound,
        inbox_id: str | None,
        stop: Stop,
        said: str | Question,
        *,
        left_over: bool = False,
    ) -> ActiveTurn:
        """Answer a message without a turn: the text of a command, or a refusal."""
        turn = ActiveTurn.begin(ctx.state, inbound, inbox_id, "no")
        asked = said if isinstance(said, Question) else None
        reply = turn.make_reply(asked.text if asked else str(said), asked)
        turn.outcome = Outcome(reply.text, stop=stop, sent=reply if reply.text else None)
        session_id = ctx.state.record.id or None
        await self._engine.journal.close_inbound(inbox_id, session_id, turn.outcome.sent, left_over=left_over)
        await turn.flush()
        return turn

    # Out

    def after_reply(self, turn: ActiveTurn) -> None:
        """The reply has left: run ``end_of_turn`` in the background."""
        self._engine.background.start(self._end_of_turn(turn))

    async def _end_of_turn(self, turn: ActiveTurn) -> None:
        if turn.outcome.stop not in ("command", "denied"):
            ctx = TurnContext(self._engine, turn.state, turn)
            with ctx.activate():
                await self._engine.bus.observe("end_of_turn", ctx, turn.snapshot())
        await turn.flush()

    # The turn under way

    async def active(self, inbound: Inbound) -> ActiveTurn | None:
        """The turn under way in the session that a message belongs to."""
        state = self._lanes.of(inbound).state
        if state is None and (session_id := await self._sessions.find(inbound)) is not None:
            state = self._sessions.loaded(session_id)
        return state.active if state is not None else None

    async def stop(self, inbound: Inbound) -> bool:
        """Cancel the turn under way, or the wait for its session; False if there is neither."""
        turn = await self.active(inbound)
        if turn is None or turn.task is None:
            return self._lanes.of(inbound).give_up()
        turn.stopping = True
        turn.task.cancel()
        return True

    async def steer(self, inbound: Inbound, text: str) -> bool:
        """Speak into the turn under way; False if there is none."""
        turn = await self.active(inbound)
        if turn is None:
            return False
        ctx = TurnContext(self._engine, turn.state, turn)
        turn.state.pending.steering.append(TextBlock(text, inbound_origins(ctx, inbound)))
        return True

    def queued(self, inbound: Inbound) -> int:
        """Messages of the chat that wait for their turn."""
        return self._lanes.of(inbound).queued

    # The session at hand

    async def end(self, ctx: PluginContext) -> None:
        """End the session of ``ctx``."""
        await self._sessions.end(ctx.base.state)

    async def set_model(self, ctx: PluginContext, model: str) -> None:
        """Give the session a model of its own, if it can be used."""
        self._engine.providers.get(model)
        await self._sessions.set_model(ctx.base.state, model)

    async def undo(self, ctx: PluginContext) -> str | None:
        """Remove the session's last turn."""
        return await self._sessions.undo_turn(ctx.base.state)

    def rerun(self, ctx: PluginContext, text: str) -> None:
        """Run a turn in place of the command at hand."""
        ctx.base.state.pending.rerun = replace(ctx.base.inbound, text=text)

    # Turns of plugins

    async def run_fork(
        self,
        session_id: str,
        prompt: str,
        *,
        model: str | None = None,
        kind: str = "review",
        max_iterations: int | None = None,
    ) -> Turn:
        """Run a turn that goes on from a copy of a session (see ``Host.fork``)."""
        state = await self._sessions.fork(session_id, model, kind)
        async with self._sessions.own(state.record.id):
            turn = await self._run_prompt(state, prompt, "no", max_calls=max_iterations or 0)
        self._sessions.forget(state.record.id)
        return turn.snapshot()

    async def run_nested(
        self,
        prompt: str,
        parent: TurnContext | None,
        kind: str,
        *,
        session_id: str | None = None,
        tools: Sequence[str] | None = None,
        system: str | None = None,
    ) -> Turn:
        """Run a turn in a session of its own: a sub-agent, scheduled work (``Host.run_turn``)."""
        active = parent.active if parent else None
        session_id = session_id or new_id()
        async with self._sessions.own(session_id):
            state = await self._sessions.existing(session_id)
            if state is None:
                chat, options = (TERMINAL, "default"), dict[str, Any]()
                if parent is not None:
                    base = parent.state
                    chat = (base.record.channel, base.record.chat_id)
                    options = {"model": base.model, "workspace": base.workspace}
                above = parent.state.record.id if parent else None
                record = Session(session_id, *chat, None, clock.now(), False, above, kind)
                state = await self._sessions.create(record, tools=tools, **options)
            else:
                await self.recover(state, "no", "")
            mode, origins = (active.mode, active.state.origins()) if active else ("no", ())
            place = (parent.inbound.channel, parent.inbound.chat_id) if parent else None
            turn = await self._run_prompt(state, prompt, mode, system, origins=origins, place=place)
        if active is not None:
            active.usage += turn.usage
        return turn.snapshot()

    async def _run_prompt(
        self,
        state: SessionState,
        prompt: str,
        mode: str,
        system: str | None = None,
        max_calls: int = 0,
        origins: tuple[Origin, ...] = (),
        place: tuple[str, str] | None = None,
    ) -> ActiveTurn:
        channel, chat_id = place or (state.record.channel, state.record.chat_id)
        inbound = Inbound(
            channel, chat_id, "", new_id(), prompt, system=system, session_id=state.record.id, origins=origins
        )
        turn = ActiveTurn.begin(state, replace(inbound, received=clock.now()), None, mode)
        turn.max_calls = max_calls
        await self._run(turn)
        self.after_reply(turn)
        return turn
