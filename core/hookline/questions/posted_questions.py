"""Acts on the answers of questions that belong to no call, by the plugin that posted them."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Protocol

from hookline_hookspecs import crash
from hookline_hookspecs.errors import HooklineError
from hookline_hookspecs.questions import (
    AnswerFailed,
    QuestionAnswer,
    QuestionClosed,
    QuestionHandler,
    StoredQuestion,
)

from ..engine import Engine
from .table import QuestionTable
from .text import closed_text

log = logging.getLogger("hookline.questions")


class Announcer(Protocol):
    """Tells the processes that a question is open or closed."""

    async def announce(self, question: StoredQuestion) -> None:
        """Tell that a question is closed."""

    async def tell_opened(self, question: StoredQuestion) -> None:
        """Tell that a question is open."""


class PostedAnswers:
    """Stores each answer before the handler is called, and that it is handled afterwards."""

    def __init__(self, engine: Engine, announcer: Announcer) -> None:
        self._engine = engine
        self._announcer = announcer

    @property
    def _table(self) -> QuestionTable:
        return QuestionTable(self._engine.store)

    async def answer(
        self, question: StoredQuestion, answer: QuestionAnswer, message_id: str
    ) -> StoredQuestion:
        """Store an answer and act on it; return the question with the outcome.

        Without the handler in this process, another process acts on the answer.

        Raises ``QuestionClosed``, ``AnswerFailed`` and ``StoreError``.
        """
        handler = self._handler(question)
        if handler is not None:
            await self._engine.node.join()
        node = self._engine.node.id if handler is not None else None
        if not await self._table.answer(question.id, answer, message_id, node=node):
            raise QuestionClosed(closed_text(await self._table.get(question.id)))
        crash.point("after-answer")
        answered = replace(question, state="answered", answer=answer)
        if handler is None:
            await self._announcer.announce(answered)
            return answered
        return await self._handle(answered, handler.answered)

    async def _handle(
        self, answered: StoredQuestion, act: Callable[[StoredQuestion], Awaitable[str]]
    ) -> StoredQuestion:
        try:
            outcome = await act(answered)
        except Exception as error:
            if not isinstance(error, HooklineError):
                log.exception("handler %s failed", answered.handler)
            if await self._table.reopen(answered.id):
                await self._announcer.tell_opened(replace(answered, state="open", answer=None))
            raise AnswerFailed(str(error)) from error
        await self._table.mark_handled(answered.id)
        await self._announcer.announce(answered)
        return replace(answered, outcome=outcome)

    async def handle_left_over(self) -> None:
        """Act on the answers that a process took which has died, or which has no handler."""
        for question, node in await self._table.unhandled():
            handler = self._handler(question)
            if handler is None or node == self._engine.node.id:
                continue
            if not await self._engine.node.may_claim(node):
                continue
            if await self._table.claim(question.id, self._engine.node.id, node):
                try:
                    await self._handle(question, handler.answered)
                except AnswerFailed as error:
                    log.warning("question %s is open again: %s", question.id, error)

    def _handler(self, question: StoredQuestion) -> QuestionHandler | None:
        handlers: list[QuestionHandler] = self._engine.added_services.get(QuestionHandler, [])
        return next((one for one in handlers if one.name == question.handler), None)
