"""Finishes what a dead process or a failing store left in a session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.inbound import Inbound
from hookline_hookspecs.verdicts import Deny

from ..engine import Engine
from ..sessions.context import TurnContext
from ..sessions.manager import Sessions, base_session_id
from ..sessions.state import SessionState
from ..turn.resume import resume_turn
from .outbox import Outbox
from .processor import MessageProcessor


@dataclass
class SessionRecovery:
    """Claims and finishes work without an owner. Only the process that wins a claim continues."""

    engine: Engine
    sessions: Sessions
    outbox: Outbox
    processor: MessageProcessor

    async def recover(self, state: SessionState, mode: str, channel_name: str) -> None:
        """Finish turns, then messages, that were left in a session which the caller owns.

        ``channel_name`` is the channel that the caller works for. Replies of other channels are
        left to the process that runs those.
        """
        if state.flags.recovered:
            return
        journal, record = self.engine.journal, state.record
        channel = self.outbox.channels.get(channel_name)
        if channel is not None and channel.network and channel_name == record.channel:
            # Before anything newer is shown in the chat.
            await self.outbox.deliver(record.channel, record.chat_id)
        self.sessions.evict(record.id)  # if this fails, the next message reads the store
        # Nobody has granted in advance what a dead process was about to ask.
        mode = "no" if mode == "yes" else mode
        for row in await journal.open_turns(record.id):
            # Whose turn it was is dead: a living process would own the session.
            if await journal.claim("claim_turn", row["id"], row["owner"]):
                turn = await resume_turn(self.engine, state, row, mode)
                self.processor.after_reply(turn)
        for row in await journal.open_inbox():
            inbound = row["inbound"]
            if inbound.session_id in (record.id, base_session_id(record.id)):
                if not await self.claim(row["id"], row["owner"]):
                    break  # another process runs it: later messages wait
                await self._answer(state, inbound, row["id"], mode)
        if channel_name == TERMINAL:
            state.pending.undelivered = await self._claim_undelivered(record.id)
        state.flags.recovered = True
        await self.sessions.cache(state)

    async def claim(self, inbox_id: str, owner: str | None) -> bool:
        """Claim a message that no living process works on."""
        processing = self.processor.processing
        # Looked at twice: it may be received or claimed by another task meanwhile.
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
            if not claimed:  # or the store failed: it can be claimed again
                processing.discard(inbox_id)
        return bool(claimed)

    async def _answer(
        self, state: SessionState, inbound: Inbound, inbox_id: str, mode: str
    ) -> None:
        ctx = TurnContext(self.engine, state, message=inbound)
        try:
            passed = await self.processor.check(ctx, inbound, inbox_id)
            if isinstance(passed, Deny):
                await self.processor.close(
                    ctx, inbound, inbox_id, "denied", passed.reason, left_over=True
                )
            else:
                turn = await self.processor.run(state, passed, inbox_id, mode, left_over=True)
                self.processor.after_reply(turn)
        finally:
            self.processor.processing.discard(inbox_id)

    async def _claim_undelivered(self, session_id: str) -> list[Mapping[str, Any]]:
        """Claim the terminal's replies that were not shown yet; this process then shows them."""
        journal, node = self.engine.journal, self.engine.node
        return [
            row
            for row in await journal.open_outbox(TERMINAL)
            if row["session_id"] == session_id
            and await node.may_claim(row["owner"])
            and await journal.claim("claim_outbox", row["id"], row["owner"])
        ]
