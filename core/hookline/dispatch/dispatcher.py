"""Stores and checks each message, then runs it as a command or a turn.

Each chat runs one message at a time.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

from hookline_hookspecs import StoreError, Submission, TextBlock, crash
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.inbound import Inbound
from hookline_hookspecs.questions import Questions
from hookline_hookspecs.tools import Tool
from hookline_hookspecs.verdicts import Deny

from .. import clock
from ..bus.bus import GuardFailed
from ..engine import Engine
from ..questions.text import question_text
from ..sessions.context import PluginContext, TurnContext, detached_context
from ..sessions.manager import Sessions
from ..sessions.state import ActiveTurn, SessionState
from ..store.codec import reply_from_json
from ..text import clean, new_id
from ..turn.permission import check_outside_turn
from .content import inbound_origins
from .lanes import Lane, Lanes
from .outbox import Outbox
from .pending_files import PendingFiles
from .processor import MessageProcessor
from .question_messages import WAITING
from .recovery import SessionRecovery
from .resumption import TurnResumption
from .slash_commands import SlashCommands

log = logging.getLogger("hookline.dispatch")
STORE_PAUSE = 10.0
"""Seconds between attempts while the store is unavailable."""


class Dispatcher:
    """Receives messages from channels and callers and processes them (service ``Conversations``).

    ``watch_questions`` is called after a turn was parked. ``recovery`` finishes what a dead process
    left in a session before anything new starts there.
    """

    def __init__(
        self,
        engine: Engine,
        sessions: Sessions,
        commands: SlashCommands,
        outbox: Outbox,
        processor: MessageProcessor,
        recovery: SessionRecovery,
    ) -> None:
        self.watch_questions: Callable[[], None] = lambda: None
        self._engine = engine
        self._sessions = sessions
        self._outbox = outbox
        self._processor = processor
        self._recovery = recovery
        self._lanes = Lanes()
        self.pending_files = PendingFiles(engine, self._complete)
        self._waiting: dict[tuple[str, str, str], str] = {}
        """Inbox ids of queued messages, by channel, chat and message id."""
        self.commands = commands.all
        self.begin = sessions.begin
        self.archive = sessions.archive
        self.resume = TurnResumption(engine, sessions, recovery).resume
        self.reopen = sessions.reopen

    # Receiving

    async def receive(self, inbound: Inbound, files: Sequence[Mapping[str, Any]] = ()) -> bool:
        """Store a message in the inbox (``Journal.receive``) and start processing it.

        Returns False for a repeated message, which the inbox already has.
        """
        await self._engine.node.join()
        inbound = replace(inbound, text=clean(inbound.text))
        crash.point("after-receive")
        if inbound.kind == "delete" and inbound.target is not None:
            await self.pending_files.withdraw(inbound.channel, inbound.chat_id, inbound.target)
        if files or self.pending_files.is_behind(inbound):
            return await self.pending_files.receive(inbound, files)
        inbox_id, write = self._engine.journal.receive(
            inbound, durable=True, mine=not self._engine.work.is_shared
        )
        return await self._begin(inbound, inbox_id, write)

    async def _complete(self, inbound: Inbound, inbox_id: str) -> None:
        """Process a stored message whose files have been fetched."""
        mine = not self._engine.work.is_shared
        await self._begin(
            inbound, inbox_id, self._engine.journal.complete_files(inbox_id, inbound, mine=mine)
        )

    async def _begin(self, inbound: Inbound, inbox_id: str, write: Awaitable[int | None]) -> bool:
        """Await ``write``, which stores a message, and process it; False if it is a repeat."""
        work = self._engine.work
        processing = self._processor.processing
        processing.add(inbox_id)
        stored: int | None = 0
        try:
            stored = await write
        finally:
            if not stored or work.is_shared:
                processing.discard(inbox_id)
        if stored:
            crash.point("after-commit")
            work.received(
                inbound.channel, inbound.chat_id, partial(self.answer_stored, inbound, inbox_id)
            )
        return bool(stored)

    async def answer_stored(self, inbound: Inbound, inbox_id: str) -> None:
        """Process a channel's stored message and deliver the reply."""
        if self._outbox.channels.get(inbound.channel) is not None and self._engine.sends(
            inbound.channel
        ):
            self._outbox.direct[inbox_id] = ""
        try:
            turn = await self._process(inbound, inbox_id, "ask")
            if turn.parked:
                self.watch_questions()
            await self._outbox.deliver(inbound.channel, inbound.chat_id, turn=turn)
            self._processor.after_reply(turn)
        finally:
            self._outbox.direct.pop(inbox_id, None)
            self._processor.processing.discard(inbox_id)
            self._engine.bus.signals.send("settled", inbound)

    async def submit(self, inbound: Inbound, mode: str) -> Submission:
        """Process a message. The caller shows the reply and then marks it as delivered."""
        await self._engine.node.join()
        system = clean(inbound.system) if inbound.system else None
        inbound = replace(inbound, text=clean(inbound.text), system=system)
        turn = await self._process(inbound, None, mode)
        record, rows = turn.state.record, turn.state.pending.undelivered
        undelivered = tuple([reply_from_json(row["body"], record, row["id"]).text for row in rows])
        return Submission(
            turn.snapshot(), turn.outcome.question, undelivered, partial(self._mark_delivered, turn)
        )

    async def _mark_delivered(self, turn: ActiveTurn) -> None:
        """Record that the caller of :meth:`submit` has shown the reply and undelivered ones."""
        crash.point("after-send")
        sent = turn.outcome.sent
        reply_ids = [row["id"] for row in turn.state.pending.undelivered]
        turn.state.pending.undelivered = []
        if sent is not None:
            reply_ids.append(sent.id)
        for reply_id in reply_ids:
            # Not awaited: if the process is killed before this is stored, the reply is shown again.
            turn.track_write(self._engine.journal.close_reply(reply_id, "sent"))
        if sent is not None:
            self._engine.bus.signals.send("reply_sent", sent)
        self._processor.after_reply(turn)

    async def answer(self, session_id: str, choice: str, user_id: str) -> bool:
        """Answer a session's open question by a button press; False if none is open."""
        row = await self._engine.journal.session(session_id)
        if row is None or not row["question"]:
            return False
        channel, chat_id = row["channel"], row["chat_id"]
        active = await self._engine.journal.active_session(channel, chat_id)
        chosen = None if active == session_id else session_id
        return await self.receive(
            Inbound(channel, chat_id, user_id, new_id(), choice, session_id=chosen)
        )

    async def withdraw(self, channel: str, chat_id: str, message_id: str) -> bool:
        """Remove a message that waits for files or is queued; False if there is none."""
        if await self.pending_files.withdraw(channel, chat_id, message_id):
            return True
        inbox_id = self._waiting.pop((channel, chat_id, message_id), None)
        if inbox_id is not None:
            await self._engine.journal.close_inbound(inbox_id, None, None)
            return True
        return bool(await self._engine.journal.withdraw_inbound(channel, chat_id, message_id))

    # Processing

    async def _process(self, inbound: Inbound, inbox_id: str | None, mode: str) -> ActiveTurn:
        """Check a message and run it, one turn at a time per chat and in the order of arrival."""
        lane = self._lanes.of(inbound)
        processor = self._processor
        # An immediate command must not wait for the check of the message before it.
        async with (
            nullcontext()
            if lane.turn.locked() and processor.is_immediate(inbound.text)
            else lane.gate
        ):
            if lane.state is not None:
                ctx = TurnContext(self._engine, lane.state, message=inbound)
            else:
                ctx = await processor.context_for(inbound, inbox_id)
            passed = await processor.check(ctx, inbound, inbox_id)
            if isinstance(passed, Inbound):
                answered = await processor.questions.take_answer(inbound, passed)
                if isinstance(answered, str):
                    return await processor.close(ctx, inbound, inbox_id, "command", answered)
                passed = answered
        # No await between the gate and the queue, so that messages keep their order of arrival.
        if isinstance(passed, Deny):
            if not isinstance(passed, GuardFailed):
                return await processor.close(ctx, inbound, inbox_id, "denied", passed.reason)
        elif processor.is_immediate(passed.text):
            return await self._run_immediate(lane, passed, inbox_id)
        key = (inbound.channel, inbound.chat_id, inbound.message_id)
        if inbox_id is not None:
            self._waiting[key] = inbox_id
        try:
            async with lane.take_turn():
                if inbox_id is not None and self._waiting.pop(key, None) is None:
                    return await processor.close(ctx, inbound, inbox_id, "denied", "")  # withdrawn
                if isinstance(passed, Deny):  # a guard failed: reply when it is the message's turn
                    return await processor.close(ctx, inbound, inbox_id, "denied", passed.reason)
                session_id = ctx.state.record.id
                del ctx  # it would keep a second history in memory during the turn
                return await self._retry_on_store_error(lane, passed, session_id, inbox_id, mode)
        finally:
            if inbox_id is not None:
                self._waiting.pop(key, None)

    async def _run_immediate(
        self, lane: Lane, inbound: Inbound, inbox_id: str | None
    ) -> ActiveTurn:
        """Run a command that does not wait for the running turn."""
        state = lane.state or await self._sessions.current(inbound)
        if state is None:
            ctx = detached_context(self._engine, inbound)
        else:
            ctx = TurnContext(self._engine, state, state.active)
        return await self._processor.run_immediate(ctx, inbound, inbox_id)

    async def _retry_on_store_error(
        self, lane: Lane, inbound: Inbound, session_id: str, inbox_id: str | None, mode: str
    ) -> ActiveTurn:
        """Retry a network channel's message while the store is unavailable."""
        again = False
        while True:
            try:
                return await self._process_in_session(
                    lane, inbound, session_id, inbox_id, mode, again
                )
            except StoreError as error:
                if inbox_id is None or inbound.channel == TERMINAL:
                    raise
                log.error(
                    "store unavailable; will retry the message from %s: %s", inbound.channel, error
                )
            except asyncio.CancelledError:
                if not lane.is_cancelled or (task := lane.waiting_task) is None or task.uncancel():
                    raise
                ctx = detached_context(self._engine, inbound)
                return await self._processor.close(ctx, inbound, inbox_id, "command", "Stopped.")
            finally:
                lane.waiting_task = None
                lane.is_cancelled = False
            again = True
            # A resumed turn stores its reply in the outbox.
            self._outbox.direct.pop(inbox_id, None)
            await asyncio.sleep(STORE_PAUSE)

    async def _process_in_session(
        self,
        lane: Lane,
        inbound: Inbound,
        session_id: str,
        inbox_id: str | None,
        mode: str,
        again: bool,
    ) -> ActiveTurn:
        lane.waiting_task = asyncio.current_task()
        async with self._sessions.acquire(inbound, session_id) as (state, known):
            lane.waiting_task = None
            lane.state = state
            try:
                if await self._recovery.recover(state, mode, inbound.channel):
                    return await self._queue_behind_question(state, inbound, inbox_id, mode)
                if again:  # recovery may have finished it
                    known = inbox_id not in [
                        row["id"] for row in await self._engine.journal.open_inbox()
                    ]
                if known and (again or inbox_id is None):
                    return self._without_turn(inbound, mode)
                caller_waits = inbox_id is None
                inbox_id = inbox_id or await self._store_inbound(state, inbound)
                return await self._processor.run(
                    state, inbound, inbox_id, mode, caller_waits=caller_waits
                )
            finally:
                lane.state = None

    async def _queue_behind_question(
        self, state: SessionState, inbound: Inbound, inbox_id: str | None, mode: str
    ) -> ActiveTurn:
        """Leave a message in the inbox until the session's parked turn has ended.

        A message of :meth:`submit` is not stored; its caller learns which question is open.
        """
        if inbox_id is not None:
            turn = self._without_turn(inbound, mode)
            reply = replace(turn.make_reply(WAITING, None), id=f"{inbox_id}-queued", kind="notice")
            await self._engine.journal.queue_inbound(inbox_id, state.record.id, reply)
            return turn
        turn = ActiveTurn.begin(state, replace(inbound, workspace=None), None, mode)
        turn.parked, turn.outcome.stop = True, "question"
        for question in await self._engine.services[Questions].open(session=state.record.id):
            turn.outcome.reply = question_text(question, for_other=True)
        return turn

    def _without_turn(self, inbound: Inbound, mode: str) -> ActiveTurn:
        """What is returned for a message that starts no turn here."""
        turn = ActiveTurn.begin(detached_context(self._engine, inbound).state, inbound, None, mode)
        turn.outcome.stop = "denied"
        return turn

    async def _store_inbound(self, state: SessionState, inbound: Inbound) -> str:
        """Store a message of :meth:`submit`; its turn waits for the write.

        It is stored only once the session is owned, so that other processes do not find a message
        that still waits for the session. The write survives a crash of the process but not a power
        cut: the caller only sees the answer, and the commit of the answer is durable.
        """
        crash.point("after-receive")
        inbox_id, write = self._engine.journal.receive(inbound, durable=False)
        state.pending.writes.append(write)
        if crash.armed("after-commit"):
            await write
        crash.point("after-commit")
        return inbox_id

    # The running turn

    async def active(self, inbound: Inbound) -> ActiveTurn | None:
        """The running turn in the session of a message, or None."""
        state = self._lanes.of(inbound).state
        if state is None and (session_id := await self._sessions.find(inbound)) is not None:
            state = self._sessions.loaded(session_id)
        return state.active if state is not None else None

    async def stop(self, inbound: Inbound) -> bool:
        """Cancel the running turn, or the wait for its session; False if there is neither."""
        turn = await self.active(inbound)
        if turn is None or turn.task is None:
            if self._lanes.of(inbound).cancel_wait():
                return True
            session_id = await self._sessions.find(inbound)
            return session_id is not None and await self._processor.questions.stop_parked(
                session_id
            )
        turn.stopping = True
        turn.task.cancel()
        return True

    async def check_outside_turn(self, tool: Tool, arguments: Mapping[str, Any]) -> None:
        """Ask the guards about a call by a program, outside of a turn. Raises ``Refused``."""
        await check_outside_turn(self._engine, tool, arguments)

    def detached(self, channel: str, chat_id: str) -> PluginContext:
        """A context of a chat outside of any turn."""
        inbound = Inbound(channel, chat_id, "", "", "", received=clock.now())
        return detached_context(self._engine, inbound).of("core")

    async def steer(self, inbound: Inbound, text: str) -> bool:
        """Add text to the running turn; False if there is none."""
        turn = await self.active(inbound)
        if turn is None:
            session_id = await self._sessions.find(inbound)
            origins = inbound_origins(detached_context(self._engine, inbound), inbound)
            return session_id is not None and await self._processor.questions.steer_parked(
                session_id, text, origins
            )
        ctx = TurnContext(self._engine, turn.state, turn)
        turn.state.pending.steering.append(TextBlock(text, inbound_origins(ctx, inbound)))
        return True

    def queued(self, inbound: Inbound) -> int:
        """The number of queued messages in the chat."""
        return self._lanes.of(inbound).queued

    # Changing a command's session

    async def end(self, ctx: PluginContext) -> None:
        """End the session of ``ctx``."""
        await self._sessions.end(ctx.base.state)

    async def set_model(self, ctx: PluginContext, model: str) -> None:
        """Set the session's model. Raises ``BadRequest`` if it cannot be used."""
        self._engine.providers.get(model)
        await self._sessions.set_model(ctx.base.state, model)

    async def undo(self, ctx: PluginContext) -> str | None:
        """Remove the session's last turn."""
        return await self._sessions.undo_turn(ctx.base.state)

    def rerun(self, ctx: PluginContext, text: str, model: str | None = None) -> None:
        """Run a turn with ``text`` instead of answering the current command."""
        inbound = ctx.base.inbound
        ctx.base.state.pending.rerun = replace(inbound, text=text, model=model or inbound.model)
