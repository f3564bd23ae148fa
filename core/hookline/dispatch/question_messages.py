"""Messages and button presses that answer a question, and the commands that reach a parked turn."""

from __future__ import annotations

import re

from hookline_hookspecs.inbound import Inbound
from hookline_hookspecs.origins import Origin
from hookline_hookspecs.parts import is_command
from hookline_hookspecs.questions import QuestionError, Questions, StoredQuestion, find_choice

from ..engine import Engine
from ..questions.service import QuestionService
from ..questions.table import ShownQuestion
from ..sessions.manager import base_session_id

MAX_ANSWER_CHARS = 300
"""Characters of a message that can be an answer: a choice, or ``Deny`` and a reason."""
UNREAD = "That came before the question could be read. Nothing was allowed; answer it now."
SEVERAL = "Several questions are open here. Press a button, or answer one by its id: {}"
WAITING = (
    "A question is waiting for an answer, so this message is queued until then. "
    "/questions shows it, /stop ends the turn."
)
_MAY_ANSWER = re.compile(
    r"\s*(?:\d{1,3}\.?\s*$|(?:allow|deny|no|once|session|always|let in|block)\b)", re.IGNORECASE
)
"""What the answers to stored questions begin with. Other messages do not read the store."""


class QuestionMessages:
    """Recognizes answers among the messages of a chat."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def _service(self) -> QuestionService:
        service: QuestionService = self._engine.services[Questions]
        return service

    async def take_answer(self, inbound: Inbound) -> str | None:
        """Answer the question that a message is meant for, and return what to reply.

        None if the message answers nothing. A pressed button answers its own question, and never
        becomes a message to the model.
        """
        if inbound.forwarded:
            return None
        if inbound.question:
            return await self._answer(inbound.question, inbound)
        text = inbound.text
        if inbound.kind != "message" or inbound.attachments or is_command(text):
            return None
        if len(text) > MAX_ANSWER_CHARS or not (inbound.reply_to or _MAY_ANSWER.match(text)):
            return None
        shown = await self._service.table.shown_in(inbound.channel, inbound.chat_id)
        if inbound.session_id:  # one of several conversations of the chat
            shown = [one for one in shown if _is_of_conversation(one, inbound.session_id)]
        quoted = [one for one in shown if one.message and one.message == inbound.reply_to]
        asked = quoted or [one for one in shown if one.person in ("", inbound.user_id)]
        named = [one for one in asked if find_choice(text, one.question.choices)]
        if not named:
            return None
        if len(named) > 1:
            ids = ", ".join(one.question.id for one in named)
            return SEVERAL.format(f"/questions answer ID CHOICE ({ids}).")
        if not quoted and not _could_be_read(named[0], inbound):
            return UNREAD
        return await self._answer(named[0].question.id, inbound)

    async def _answer(self, question_id: str, inbound: Inbound) -> str:
        try:
            answered = await self._service.answer(
                question_id, inbound.text, inbound.channel, inbound.user_id
            )
        except QuestionError as error:
            return str(error)
        return answer_text(answered)

    async def stop_parked(self, session_id: str) -> bool:
        """Stop the session's parked turn; False if it has none."""
        turn_id = await self._service.table.parked_turn(session_id)
        if turn_id is None:
            return False
        for question in await self._service.table.open_of_turn(turn_id):
            await self._service.close(question, "stopped")
        return True

    async def steer_parked(self, session_id: str, text: str, origins: tuple[Origin, ...]) -> bool:
        """Store a text for the session's parked turn; False if it has none."""
        turn_id = await self._service.table.parked_turn(session_id)
        if turn_id is None:
            return False
        await self._service.table.add_steering(turn_id, text, origins)
        return True


def answer_text(question: StoredQuestion) -> str:
    """What is replied to an accepted answer."""
    answer = question.answer
    return f"Answered: {answer.choice}." if answer is not None else "Answered."


def _is_of_conversation(shown: ShownQuestion, session_id: str) -> bool:
    """Whether the question belongs to the conversation with this id or to a successor of it."""
    return base_session_id(shown.question.session) == base_session_id(session_id)


def _could_be_read(shown: ShownQuestion, inbound: Inbound) -> bool:
    """False for a message that was on its way before the question was delivered."""
    return bool(shown.sent) and not 0 < inbound.received < shown.sent
