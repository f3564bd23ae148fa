"""The service ``Questions``: lists, answers and closes questions, and wakes what waits for them."""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from hookline_hookspecs import crash
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.optional_services import Access
from hookline_hookspecs.questions import (
    ALLOW_ONCE,
    DENY,
    QUESTIONS_TOPIC,
    NotAnswerable,
    NotShown,
    Question,
    QuestionAnswer,
    QuestionClosed,
    QuestionState,
    StoredQuestion,
)
from hookline_hookspecs.turns import Session

from .. import clock
from ..engine import Engine
from .delivery import show_question
from .forms import read_answer
from .posted_questions import PostedAnswers
from .shared_prompts import SharedPrompts
from .table import QuestionTable, new_question
from .text import closed_text

ID_ALPHABET = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"
"""Without characters that look like others."""
ID_CHARS = 6
"""31^6 ids, about 9 x 10^8. Closed questions are deleted after a week."""
NOT_ANSWERABLE = "You may not answer this question. Nothing was changed."


def new_question_id() -> str:
    """A short id that people can type."""
    return "".join(secrets.choice(ID_ALPHABET) for _ in range(ID_CHARS))


class QuestionService:
    """The questions of all sessions (service ``Questions``)."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._waiting: dict[str, asyncio.Event] = {}
        """Calls of this process that wait for an answer, by question id."""
        self._announced: set[str] = set()
        """Questions that such calls wait for and that were closed in this process."""
        self._closing: Counter[str] = Counter()
        """Questions that this process is just closing, with how many tasks do."""
        self._posted = PostedAnswers(engine, self)
        self.prompts: SharedPrompts[Any] = SharedPrompts()
        """The prompts of this process."""

    @property
    def table(self) -> QuestionTable:
        """The stored questions."""
        return QuestionTable(self._engine.store)

    async def open(
        self, *, session: str | None = None, chat: tuple[str, str] | None = None
    ) -> Sequence[StoredQuestion]:
        """The open questions, oldest first: of a session, of a chat, or all."""
        return await self.table.open(session_id=session, chat=chat)

    async def get(self, question_id: str) -> StoredQuestion | None:
        """A question, open or not."""
        return await self.table.get(question_id.strip().upper())

    async def answer(
        self,
        question_id: str,
        typed: str,
        channel: str,
        user_id: str,
        *,
        shown: str = "",
        message_id: str = "",
    ) -> StoredQuestion:
        """Answer an open question; see the protocol. ``message_id`` is that of the answer."""
        question = await self.get(question_id)
        if question is not None and question.state == "expired":
            await self.close_expired()  # the turn need not wait for the watch to notice
        if question is None or question.state != "open":
            raise QuestionClosed(closed_text(question))
        if not await self.may_answer(question, channel, user_id):
            raise NotAnswerable(NOT_ANSWERABLE)
        if typed.endswith(f" {question.digest}"):
            typed, _, shown = typed.rpartition(" ")
        answer = QuestionAnswer(*read_answer(question, typed), by=f"{channel}:{user_id}")
        _require_shown(question, answer, shown)
        if question.handler:
            return await self._posted.answer(question, answer, message_id)
        return await self.settle(question, answer, message_id)

    async def post(
        self,
        question: Question,
        handler: str,
        subject: str,
        *,
        expires: float,
        session: Session,
        asker: str = "",
        data: Mapping[str, Any] | None = None,
        show: bool = False,
    ) -> StoredQuestion:
        """Store a question for which no call waits; see the protocol."""
        made = new_question(question, new_question_id(), session, asker, expires)
        made = replace(made, handler=handler, subject=subject, data=dict(data or {}))
        stored = await self.table.insert_once(made)
        if stored is made:
            await self.tell_opened(stored)
            if show:
                await show_question(self._engine, stored)
        return stored

    async def tell_opened(self, question: StoredQuestion, ctx: object = None) -> None:
        """Tell this process and the others that a question is open."""
        await self._engine.store.notify(QUESTIONS_TOPIC, question.id)
        self._engine.bus.signals.send("question_opened", question, ctx)

    async def close_about(self, handler: str, subject: str, choice: str, by: str) -> None:
        """Close a question with a handler that was decided elsewhere; see the protocol."""
        question = await self.table.open_about(handler, subject)
        answer = QuestionAnswer(choice, by=by)
        if question is not None and await self.table.answer(question.id, answer, handled=True):
            await self.announce(replace(question, state="answered", answer=answer))

    async def handle_left_over(self) -> None:
        """Act on the answers that a dead process has taken."""
        await self._posted.handle_left_over()

    async def close_choices(self, session_id: str, user_id: str) -> None:
        """Close the questions that earlier replies of the session to the person ended with."""
        for question in await self.table.open_choices(session_id):
            if question.asker in ("", user_id):
                await self.close(question, "closed")

    async def may_answer(self, question: StoredQuestion, channel: str, user_id: str) -> bool:
        """Whether a person may answer: the operator, and who the service ``Access`` permits.

        A question that a reply ended with is answered by the person who got the reply, because
        the answer is their message.
        """
        if question.ends_turn:
            return channel == question.channel and question.asker in ("", user_id)
        if channel == TERMINAL:
            return True
        access: Access | None = self._engine.services.get(Access)
        return access is not None and await access.may_answer(question, channel, user_id)

    async def settle(
        self, question: StoredQuestion, answer: QuestionAnswer, message_id: str = ""
    ) -> StoredQuestion:
        """Store an answer of someone who may give it. Raises ``QuestionClosed``, ``StoreError``."""
        answered = replace(question, state="answered", answer=answer)
        with self._close(question.id):
            if not await self.table.answer(question.id, answer, message_id):
                raise QuestionClosed(closed_text(await self.table.get(question.id)))
            crash.point("after-answer")
            await self.announce(answered)
        await self._answer_covered(answered, answer)
        return answered

    async def _answer_covered(self, answered: StoredQuestion, answer: QuestionAnswer) -> None:
        """Give the same answer to the session's open questions that it covers too."""
        if answered.kind != "approval" or answer.choice in (ALLOW_ONCE, DENY):
            return
        for other in await self.table.open(session_id=answered.session):
            if covers_other(answered, other, answer.choice):
                with suppress(QuestionClosed):
                    await self.settle(other, answer)

    async def close(self, question: StoredQuestion, state: QuestionState) -> StoredQuestion:
        """Close a question without an answer; return it as it is now stored."""
        closed = replace(question, state=state)
        with self._close(question.id):
            if not await self.table.close(question.id, state):
                return await self.table.get(question.id) or question
            await self.announce(closed)
        return closed

    @contextmanager
    def _close(self, question_id: str) -> Iterator[None]:
        """What a task closes is announced by it alone: the call that waits may see it earlier."""
        self._closing[question_id] += 1
        try:
            yield
        finally:
            self._closing[question_id] -= 1
            self._closing = +self._closing
            self.wake(question_id)

    async def close_expired(self) -> None:
        """Mark questions whose time is over as expired."""
        for question in await self.table.expired():
            await self.close(question, "expired")

    async def announce(self, question: StoredQuestion) -> None:
        """Tell this process and the others that a question is closed.

        Wakes the call that waits for the question.
        """
        if question.id in self._waiting:
            self._announced.add(question.id)
        self.wake(question.id)
        if not question.ends_turn:
            self._engine.bus.signals.send("question_closed", question)
        await self._engine.store.notify(QUESTIONS_TOPIC, question.id)

    def wake(self, question_id: str) -> None:
        """Wake the call that waits for a question; for all of them if the id is empty."""
        for id_, event in list(self._waiting.items()):
            if question_id in ("", id_):
                event.set()

    async def wait_until_closed(self, question: StoredQuestion) -> StoredQuestion:
        """Wait until a question is answered, closed or expired; return it as it is then."""
        event = self._waiting.setdefault(question.id, asyncio.Event())
        listening = self._engine.background.start_endless(self._listen())
        try:
            while True:
                event.clear()
                found = await self.table.get(question.id)
                if found is None:
                    return replace(question, state="closed")
                if found.state == "expired":
                    return await self.close(replace(found, state="open"), "expired")
                if found.state != "open" and found.id in self._announced:
                    return found
                if found.state != "open" and not self._closing[found.id]:
                    self._engine.bus.signals.send("question_closed", found)  # by another process
                    return found
                left = None if found.expires is None else max(0.0, found.expires - clock.now())
                # asyncio.wait_for may lose a cancellation in Python 3.11.
                with suppress(TimeoutError):
                    async with asyncio.timeout(left):
                        await event.wait()
        finally:
            listening.cancel()
            self._waiting.pop(question.id, None)
            self._announced.discard(question.id)

    async def _listen(self) -> None:
        async with self._engine.store.listen(QUESTIONS_TOPIC) as payloads:
            self.wake("")  # an answer may have come before this was listening
            async for payload in payloads:
                self.wake(payload)


def _require_shown(question: StoredQuestion, answer: QuestionAnswer, shown: str) -> None:
    """Raise ``NotShown`` if a long call would be accepted that the person was not shown whole."""
    is_refusal = answer.choice == question.choices[-1] if question.choices else False
    if question.is_long and not is_refusal and shown != question.digest:
        raise NotShown(
            f"The call has {len(question.preview):,} characters and was not shown whole. Nothing "
            f"was changed. `hookline questions show {question.id}` shows it and how to answer, and "
            "so does the page's Inbox."
        )


def covers_other(answered: StoredQuestion, other: StoredQuestion, choice: str) -> bool:
    """Whether a choice that allows more than its call also allows the call of another question.

    That is so if it says the same in both: it covers the same, or both show the same call.
    """
    if other.kind != "approval" or other.tool != answered.tool or choice not in other.choices:
        return False
    covered = [
        one.covers[one.choices.index(choice)] if one.covers else "" for one in (answered, other)
    ]
    is_same_call = answered.preview == other.preview and answered.text == other.text
    return covered[0] == covered[1] and (bool(covered[0]) or is_same_call)
