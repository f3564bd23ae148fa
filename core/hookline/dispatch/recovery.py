"""Finishes what a dead process or a failing store left in a session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.inbound import Inbound
from hookline_hookspecs.questions import Questions
from hookline_hookspecs.verdicts import Deny

from ..engine import Engine
from ..questions.service import QuestionService
from ..sessions.context import TurnContext
from ..sessions.manager import Sessions, base_session_id
from ..sessions.state import SessionState
from ..turn.resume import resume_turn
from .outbox import Outbox
from .processor import MessageProcessor


@dataclass
class SessionRecovery:
    """Claims and finishes work without a living owner. Only the claiming process continues."""

    engine: Engine
    sessions: Sessions
    outbox: Outbox
    processor: MessageProcessor

    async def recover(self, state: SessionState, mode: str, channel_name: str) -> bool:
        """Finish the unfinished turns, then the messages, of a session that the caller owns.

        ``channel_name`` is the caller's channel. Replies on other channels are left to the
        processes that run those channels. Returns True if a turn of the session is parked: nothing
        may run in it until the turn's question is answered.
        """
        if state.flags.recovered:
            return False
        journal, record = self.engine.journal, state.record
        channel = self.outbox.channels.get(channel_name)
        if channel is not None and channel.network and channel_name == record.channel:
            # Deliver these before anything newer is shown in the chat.
            await self.outbox.deliver(record.channel, record.chat_id)
        self.sessions.evict(record.id)  # if this fails, the next message reads the store
        # `--yes` was not meant for the calls of a dead process, so it does not apply to them.
        mode = "no" if mode == "yes" else mode
        # The person at a terminal is asked again what its earlier process asked.
        asks_here = mode == "ask" and channel_name == TERMINAL == record.channel
        if await self._finish_turns(state, mode, asks_here):
            return True
        for row in await journal.open_inbox():
            inbound = row["inbound"]
            if inbound.session_id in (record.id, base_session_id(record.id)):
                if not await self.claim(row["id"], row["owner"]):
                    break  # another process is running it, so later messages wait
                await self._answer(state, inbound, row["id"], mode)
                if await self._finish_turns(state, mode, asks_here=False):
                    return True
        if channel_name == TERMINAL:
            state.pending.undelivered = await self._claim_undelivered(record.id)
        state.flags.recovered = True
        await self.sessions.cache(state)
        return False

    async def _finish_turns(self, state: SessionState, mode: str, asks_here: bool) -> bool:
        """Finish the session's unfinished turns. Returns True if one is parked then.

        A question may be answered just before its turn is parked; the turn then continues here.
        """
        journal, session_id = self.engine.journal, state.record.id
        questions: QuestionService = self.engine.services[Questions]
        while True:
            rows = await journal.open_turns(session_id, waiting=asks_here)
            claimed = 0
            for row in rows:
                # The turn's process is dead: a living one would own the session.
                if await journal.claim("claim_turn", row["id"], row["owner"]):
                    claimed += 1
                    caller_waits = self.outbox.channels.awaits_replies(state.record.channel)
                    turn = await resume_turn(
                        self.engine, state, row, mode, caller_waits=caller_waits
                    )
                    self.processor.after_reply(turn)
            if not any(row["parked"] for row in await journal.running_turns(session_id)):
                return False
            if await questions.table.parked_turn(session_id) is not None or len(rows) > claimed:
                return True

    async def claim(self, inbox_id: str, owner: str | None) -> bool:
        """Claim a message that no living process is working on."""
        processing = self.processor.processing
        # Checked twice: another task may receive or claim it meanwhile.
        if (
            inbox_id in processing
            or not await self.engine.node.may_claim(owner)
            or inbox_id in processing
        ):
            return False
        processing.add(inbox_id)
        claimed = 0
        try:
            claimed = await self.engine.journal.claim("claim_inbox", inbox_id, owner)
        finally:
            if not claimed:  # also if the store failed: it can be claimed again
                processing.discard(inbox_id)
        return bool(claimed)

    async def _answer(
        self, state: SessionState, inbound: Inbound, inbox_id: str, mode: str
    ) -> None:
        ctx = TurnContext(self.engine, state, message=inbound)
        try:
            passed: Inbound | Deny | str = await self.processor.check(ctx, inbound, inbox_id)
            if isinstance(passed, Inbound):
                passed = await self.processor.questions.take_answer(inbound, passed)
            if isinstance(passed, str):
                await self.processor.close(
                    ctx, inbound, inbox_id, "command", passed, left_over=True
                )
            elif isinstance(passed, Deny):
                await self.processor.close(
                    ctx, inbound, inbox_id, "denied", passed.reason, left_over=True
                )
            else:
                turn = await self.processor.run(state, passed, inbox_id, mode, left_over=True)
                self.processor.after_reply(turn)
        finally:
            self.processor.processing.discard(inbox_id)

    async def _claim_undelivered(self, session_id: str) -> list[Mapping[str, Any]]:
        """Claim the terminal's replies that were not shown yet, so that this process shows them."""
        journal, node = self.engine.journal, self.engine.node
        return [
            row
            for row in await journal.open_outbox(TERMINAL)
            if row["session_id"] == session_id
            and await node.may_claim(row["owner"])
            and await journal.claim("claim_outbox", row["id"], row["owner"])
        ]
