"""Finishes what a dead process or a failing store left: turns, messages, replies."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from hookline_hookspecs.errors import StoreError
from hookline_hookspecs.events import Deny, Inbound, Reply

from ..engine import Engine
from ..sessions.context import TERMINAL, idle_context
from ..sessions.manager import Sessions, stem
from ..sessions.state import SessionState
from ..text import new_id
from ..turn.resume import resume_turn
from .dispatcher import Dispatcher
from .outbox import Outbox


@dataclass
class Recovery:
    """Claims what nobody works on any more. A row is taken only by who wins its claim.

    It is the service ``GatewayHost``.
    """

    engine: Engine
    sessions: Sessions
    dispatcher: Dispatcher
    outbox: Outbox

    def __post_init__(self) -> None:
        self.dispatcher.recover = self.recover_session
        self.finish = self.engine.background.finish
        self.withdraw, self.deliver = self.dispatcher.withdraw, self.outbox.deliver

    async def post(self, reply: Reply) -> None:
        """Store a reply that answers nothing, and deliver it."""
        await self.engine.node.join()
        await self.engine.journal.close_inbound(None, None, replace(reply, id=reply.id or new_id()))
        self.engine.background.start(self.outbox.deliver(reply.session.channel, reply.session.chat_id))

    async def recover(self, channel: str | None = None, chat_id: str = "") -> list[asyncio.Task[Any]]:
        """Finish everything that is left over for network channels, and delete what is old.

        For the process that runs the channels: at its start, and from time to time. Where work is
        shared, it is finished one chat at a time, by whoever is to do it.
        """
        await self.engine.node.join()
        if channel is not None:
            return await self._finish_work(channel, chat_id)
        await self.engine.work.finish_left_over(partial(self._finish_work, None, ""))
        for network in [one for one in self.outbox.channels if one.network and self.engine.sends(one.name)]:
            self.engine.background.start(self.outbox.deliver_all(network.name))
        await self.engine.journal.prune()
        return []

    async def _finish_work(self, channel: str | None, chat_id: str) -> list[asyncio.Task[Any]]:
        journal, start, tasks = self.engine.journal, self.engine.background.start, list[asyncio.Task[Any]]()
        try:
            for session_id in await journal.unfinished_sessions(channel, chat_id):
                row, state = await journal.session(session_id), self.sessions.loaded(session_id)
                idle = state is None or state.active is None
                if idle and row and row["kind"] == "chat" and row["channel"] != TERMINAL:
                    tasks.append(start(self._finish_session(session_id)))
            for row in await journal.open_inbox(channel, chat_id):
                if row["inbound"].channel != TERMINAL and await self._claim(row["id"], row["owner"]):
                    tasks.append(start(self.dispatcher.answer_stored(row["inbound"], row["id"])))
                elif channel is not None and row["id"] not in self.dispatcher.in_hand:
                    raise StoreError("another process has an earlier message of the chat.")
        except StoreError:
            if channel is None or not tasks:  # else whoever waits for them looks again
                raise
        return tasks

    async def _claim(self, inbox_id: str, owner: str | None) -> bool:
        """Claim a message that no living process works on."""
        in_hand = self.dispatcher.in_hand
        # Looked at twice: it may be received or claimed by another task meanwhile.
        if inbox_id in in_hand or not await self.engine.node.may_claim(owner) or inbox_id in in_hand:
            return False
        in_hand.add(inbox_id)
        claimed = 0
        try:
            claimed = await self.engine.journal.claim("claim_inbox", inbox_id, owner)
        finally:
            if not claimed:  # or the store failed: it can be claimed again
                in_hand.discard(inbox_id)
        return bool(claimed)

    async def _finish_session(self, session_id: str) -> None:
        async with self.sessions.own(session_id):
            state = await self.sessions.existing(session_id)
            if state is not None:
                await self.recover_session(state, "ask", state.record.channel)
        if state is not None:
            await self.outbox.deliver(state.record.channel, state.record.chat_id)

    async def recover_session(self, state: SessionState, mode: str, channel_name: str) -> None:
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
        self.sessions.forget(record.id)  # if this fails, the next message reads the store
        # Nobody has granted in advance what a dead process was about to ask.
        mode = "no" if mode == "yes" else mode
        for row in await journal.open_turns(record.id):
            # Whose turn it was is dead: a living process would own the session.
            if await journal.claim("claim_turn", row["id"], row["owner"]):
                turn = await resume_turn(self.engine, state, row, mode)
                self.dispatcher.after_reply(turn)
        for row in await journal.open_inbox():
            inbound = row["inbound"]
            if inbound.session_id in (record.id, stem(record.id)):
                if not await self._claim(row["id"], row["owner"]):
                    break  # somebody works on it: what is behind it waits
                await self._answer_left_over(state, inbound, row["id"], mode)
        if channel_name == TERMINAL:
            state.pending.unshown = await self._claim_unshown(record.id)
        state.flags.recovered = True
        await self.sessions.keep(state)

    async def _answer_left_over(self, state: SessionState, inbound: Inbound, inbox_id: str, mode: str) -> None:
        lobby = idle_context(self.engine, inbound.channel, inbound.chat_id)
        try:
            passed = await self.dispatcher.judge(lobby, inbound, inbox_id)
            if isinstance(passed, Deny):
                await self.dispatcher.close(lobby, inbound, inbox_id, "denied", passed.reason, left_over=True)
            else:
                turn = await self.dispatcher.work(state, passed, inbox_id, mode, left_over=True)
                self.dispatcher.after_reply(turn)
        finally:
            self.dispatcher.in_hand.discard(inbox_id)

    async def _claim_unshown(self, session_id: str) -> list[Mapping[str, Any]]:
        """Replies of the terminal that nobody has seen; whoever claims them shows them."""
        journal, node = self.engine.journal, self.engine.node
        return [
            row
            for row in await journal.open_outbox(TERMINAL)
            if row["session_id"] == session_id
            and await node.may_claim(row["owner"])
            and await journal.claim("claim_outbox", row["id"], row["owner"])
        ]
