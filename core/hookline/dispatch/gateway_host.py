"""Core's functions for the process that runs the channels (service ``GatewayHost``)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.errors import StoreError
from hookline_hookspecs.gateway import FetchFiles
from hookline_hookspecs.replies import Reply

from ..engine import Engine
from ..sessions.manager import Sessions
from ..text import new_id
from .dispatcher import Dispatcher
from .outbox import Outbox
from .question_watch import QuestionWatch
from .recovery import SessionRecovery


@dataclass
class CoreGatewayHost:
    """The service ``GatewayHost``."""

    engine: Engine
    sessions: Sessions
    dispatcher: Dispatcher
    recovery: SessionRecovery
    outbox: Outbox
    before_serving: Callable[[], Awaitable[None]]
    watch: QuestionWatch = field(init=False)

    def __post_init__(self) -> None:
        self.watch = QuestionWatch(self.engine, self.outbox, self._resume_session)

    async def recover(
        self, channel: str | None = None, chat_id: str = ""
    ) -> list[asyncio.Task[Any]]:
        """Finish unfinished work of network channels, and delete old rows.

        Call it when the process starts and then regularly. If several processes share the work,
        each chat's work is given to one of them.
        """
        await self.engine.node.join()
        if channel is not None:
            return await self._finish_left_over(channel, chat_id)
        await self.before_serving()
        self.watch.start()
        await self.dispatcher.pending_files.recover()
        await self.engine.work.finish_left_over(partial(self._finish_left_over, None, ""))
        for sender in list(self.outbox.channels):
            if sender.network and self.engine.sends(sender.name):
                self.engine.background.start(self.outbox.deliver_all(sender.name))
        await self.engine.journal.prune()
        return []

    async def _finish_left_over(self, channel: str | None, chat_id: str) -> list[asyncio.Task[Any]]:
        tasks: list[asyncio.Task[Any]] = []
        try:
            await self._resume_turns(channel, chat_id, tasks)
            await self._answer_messages(channel, chat_id, tasks)
        except StoreError:
            if channel is None or not tasks:  # otherwise the caller awaits them and tries again
                raise
        return tasks

    async def _resume_turns(
        self, channel: str | None, chat_id: str, tasks: list[asyncio.Task[Any]]
    ) -> None:
        for session_id in await self.engine.journal.unfinished_sessions(channel, chat_id):
            row = await self.engine.journal.session(session_id)
            state = self.sessions.loaded(session_id)
            is_idle = state is None or state.active is None
            if is_idle and row and row["kind"] == "chat" and row["channel"] != TERMINAL:
                tasks.append(self.engine.background.start(self._resume_session(session_id)))

    async def _answer_messages(
        self, channel: str | None, chat_id: str, tasks: list[asyncio.Task[Any]]
    ) -> None:
        for row in await self.engine.journal.open_inbox(channel, chat_id):
            if row["inbound"].channel != TERMINAL and await self.recovery.claim(
                row["id"], row["owner"]
            ):
                answer = self.dispatcher.answer_stored(row["inbound"], row["id"])
                tasks.append(self.engine.background.start(answer))
            elif channel is not None and row["id"] not in self.recovery.processor.processing:
                raise StoreError("another process is working on an earlier message of the chat.")

    async def _resume_session(self, session_id: str) -> None:
        parked = True
        async with self.sessions.lock(session_id):
            state = await self.sessions.existing(session_id)
            if state is not None:
                channel = state.record.channel
                # A turn of a terminal must not ask at the gateway's own terminal.
                mode = "no" if channel == TERMINAL else "ask"
                parked = await self.recovery.recover(state, mode, channel)
        if state is None:
            return
        channel, chat_id = state.record.channel, state.record.chat_id
        await self.outbox.deliver(channel, chat_id)
        if parked:
            self.watch.start()  # the answer may have come before the turn was parked
        else:
            with suppress(StoreError):  # another process is working on the chat's messages
                await self._answer_messages(channel, chat_id, [])

    async def fetch_files(self, channel: str, fetch: FetchFiles) -> None:
        """Use ``fetch`` from now on to complete the channel's messages that wait for files."""
        await self.dispatcher.pending_files.fetch(channel, fetch)

    async def finish(self, seconds: float) -> None:
        """Wait at most ``seconds`` for running turns and replies to finish."""
        await self.engine.background.finish(seconds)

    async def answer(self, session_id: str, choice: str, user_id: str) -> bool:
        """Answer a session's open question by a button press; False if none is open."""
        return await self.dispatcher.answer(session_id, choice, user_id)

    async def withdraw(self, channel: str, chat_id: str, message_id: str) -> bool:
        """Remove a stored message that is still queued; False if there is none."""
        return await self.dispatcher.withdraw(channel, chat_id, message_id)

    async def deliver(self, channel: str, chat_id: str) -> None:
        """Send a chat's waiting replies in order; return when all are sent or a retry is due."""
        await self.outbox.deliver(channel, chat_id)

    async def post(self, reply: Reply) -> None:
        """Store and deliver a reply that does not answer a message."""
        await self.engine.node.join()
        await self.engine.journal.close_inbound(None, None, replace(reply, id=reply.id or new_id()))
        self.engine.background.start(
            self.outbox.deliver(reply.session.channel, reply.session.chat_id)
        )
