"""Continues parked turns whose questions are closed, and tells the chats that showed them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any

from hookline_hookspecs import crash
from hookline_hookspecs.errors import StoreError
from hookline_hookspecs.questions import QUESTIONS_TOPIC, Questions, StoredQuestion
from hookline_hookspecs.replies import Reply
from hookline_hookspecs.turns import Session

from .. import clock
from ..engine import Engine
from ..questions.service import QuestionService
from ..questions.table import QuestionPlace
from ..questions.text import closing_text
from .outbox import Outbox

log = logging.getLogger("hookline.questions")
MAX_WAIT = 3600.0
"""Seconds after which expired questions are looked for again, whatever happens."""
STORE_PAUSE = 5.0
"""Seconds before the next attempt after the store failed."""


class QuestionWatch:
    """Runs in every process that runs channels or their turns.

    ``resume`` continues the session with the given id.
    """

    def __init__(
        self, engine: Engine, outbox: Outbox, resume: Callable[[str], Coroutine[Any, Any, None]]
    ) -> None:
        self._engine = engine
        self._outbox = outbox
        self._resume = resume
        self._task: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()

    def start(self) -> None:
        """Look for closed questions now, and from now on whenever something changes."""
        self._changed.set()
        if self._task is None or self._task.done():
            self._engine.bus.signals.connect("reply_sent", self._reply_sent)
            self._task = self._engine.background.start_endless(self._watch())

    def _reply_sent(self, reply: Reply, ctx: object = None) -> None:
        if reply.question:  # it may have been closed while it was being sent
            self._changed.set()

    @property
    def _service(self) -> QuestionService:
        service: QuestionService = self._engine.services[Questions]
        return service

    async def _watch(self) -> None:
        listening = self._engine.background.start_endless(self._listen())
        try:
            while True:
                self._changed.clear()
                try:
                    await self._look()
                    wait = await self._seconds_to_expiry()
                except StoreError as error:
                    log.warning("cannot read the open questions: %s", error)
                    wait = STORE_PAUSE
                with suppress(TimeoutError):
                    async with asyncio.timeout(wait):
                        await self._changed.wait()
        finally:
            listening.cancel()

    async def _listen(self) -> None:
        while True:
            try:
                async with self._engine.store.listen(QUESTIONS_TOPIC) as payloads:
                    self._changed.set()
                    async for _ in payloads:
                        self._changed.set()
            except StoreError as error:
                log.warning("cannot listen for answers: %s", error)
                await asyncio.sleep(STORE_PAUSE)

    async def _seconds_to_expiry(self) -> float:
        at = await self._service.table.next_expiry()
        return MAX_WAIT if at is None else min(MAX_WAIT, max(0.05, at - clock.now()))

    async def _look(self) -> None:
        """Handle everything that has changed since the last look."""
        await self._service.close_expired()
        await self._service.handle_left_over()
        for question, place in await self._service.table.closed_places():
            if self._engine.sends(place.channel):
                # If this process dies before that is recorded, another one tells the chat again:
                # the notice has an id, so that it is sent once.
                await self._tell_closed(question, place)
                crash.point("mid-close")
                await self._service.table.close_place(question.id, place)
        for row in await self._service.table.answered_turns():
            resume = partial(self._resume, row["session_id"])
            self._engine.work.received(row["channel"], row["chat_id"], resume)

    async def _tell_closed(self, question: StoredQuestion, place: QuestionPlace) -> None:
        """Take the buttons from a chat that showed the question, and say there who answered.

        A question that a reply ended with is closed without a word: its answer is in the chat.
        So is one without a turn that has expired: nothing happened. Where a turn was stopped, its
        reply says so.
        """
        if not question.ends_turn and await self._service.table.withdraw_reply(place.reply_id):
            return  # it was never shown there
        text = closing_text(question)
        channel = self._outbox.channels.get(place.channel)
        if channel is not None and place.message:
            try:
                await channel.question_closed(place.chat_id, place.message, text)
            except Exception as error:
                log.info("channel %s cannot close a question: %s", place.channel, error)
        is_own = (place.channel, place.chat_id) == (question.channel, question.chat_id)
        is_silent = (
            question.ends_turn
            or (question.handler and question.state == "expired")
            or (is_own and question.state == "stopped")
        )
        if not is_silent and not _answered_here(question, place):
            await self._post(place, question.id, text)

    async def _post(self, place: QuestionPlace, question_id: str, text: str) -> None:
        session = Session("", place.channel, place.chat_id, None, clock.now(), kind="none")
        reply = Reply(
            session,
            text,
            id=f"{place.reply_id}-closed",
            kind="notice",
            person=place.person,
            question=question_id,
        )
        await self._engine.journal.close_inbound(None, None, reply)
        self._engine.background.start(self._outbox.deliver(place.channel, place.chat_id))


def _answered_here(question: StoredQuestion, place: QuestionPlace) -> bool:
    answer = question.answer
    return answer is not None and answer.by == f"{place.channel}:{place.person}"
