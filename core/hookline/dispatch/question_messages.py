"""Messages and button presses that answer a question, and the commands that reach a parked turn."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from hookline_hookspecs.inbound import Inbound, is_private_chat
from hookline_hookspecs.origins import Origin
from hookline_hookspecs.parts import is_command
from hookline_hookspecs.questions import QuestionError, Questions, StoredQuestion, find_choice

from ..engine import Engine
from ..questions.service import NOT_ANSWERABLE, QuestionService
from ..questions.table import ShownQuestion
from ..questions.text import CLOSED
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

    async def take_answer(self, inbound: Inbound, passed: Inbound) -> Inbound | str:
        """Answer the question that a message is meant for.

        ``inbound`` is the message as the person wrote it, and ``passed`` as the guards return it.
        Return what to reply, or the message to go on with if it answers nothing, or answers the
        question that the last reply ended with. A pressed button never becomes another message.
        """
        if inbound.forwarded:
            return passed
        if inbound.kind == "press":
            return await self._press(inbound, passed)
        if is_command(passed.text) or not _may_answer(inbound):
            return passed
        repeated = await self._service.table.answered_by(_person(inbound), inbound.message_id)
        if repeated is not None:  # this process or a dead one has already taken it
            return answer_text(repeated)
        shown = await self._service.table.shown_in(inbound.channel, inbound.chat_id)
        if inbound.session_id:  # one of several conversations of the chat
            shown = [one for one in shown if _is_of_conversation(one, inbound.session_id)]
        quoted = [one for one in shown if one.message and one.message == inbound.reply_to]
        asked = quoted or [one for one in shown if one.person in ("", inbound.user_id)]
        named = [
            one
            for one in asked
            if not one.question.ends_turn and find_choice(inbound.text, one.question.choices)
        ]
        written = [one for one in quoted if takes_words(one.question)]
        named = written or [one for one in named if not one.question.fields]
        if any(_is_for_another(one, inbound) for one in quoted):
            return NOT_ANSWERABLE
        if not named:
            return _with_choice(asked, inbound, passed)
        if len(named) > 1:
            ids = ", ".join(one.question.id for one in named)
            return SEVERAL.format(f"/questions answer ID CHOICE ({ids}).")
        if not quoted and not _could_be_read(named[0], inbound):
            return UNREAD
        return await self._answer(named[0].question.id, inbound)

    async def _press(self, inbound: Inbound, passed: Inbound) -> Inbound | str:
        """Answer the question whose button was pressed."""
        if not inbound.question and is_command(passed.text):
            return passed  # a plugin's own buttons, which it has turned into a command
        question = await self._pressed_question(inbound)
        if question is None or not inbound.text:
            return CLOSED
        if not question.ends_turn:
            return await self._answer(question.id, inbound)
        if not question.asker and not is_private_chat(inbound):
            return NOT_ANSWERABLE
        try:
            await self._settle(question.id, inbound)
        except QuestionError as error:
            return str(error)
        return passed

    async def _pressed_question(self, inbound: Inbound) -> StoredQuestion | None:
        if inbound.question:
            return await self._service.get(inbound.question)
        shown = await self._service.table.shown_in(inbound.channel, inbound.chat_id)
        target = inbound.target
        return next((one.question for one in shown if target and one.message == target), None)

    async def _answer(self, question_id: str, inbound: Inbound) -> str:
        try:
            return answer_text(await self._settle(question_id, inbound))
        except QuestionError as error:
            return str(error)

    async def _settle(self, question_id: str, inbound: Inbound) -> StoredQuestion:
        """Answer a question with a message, which may have done so before its process died."""
        repeated = await self._service.table.answered_by(_person(inbound), inbound.message_id)
        if repeated is not None:
            return repeated
        return await self._service.answer(
            question_id,
            inbound.text,
            inbound.channel,
            inbound.user_id,
            message_id=inbound.message_id,
        )

    async def close_choices(self, session_id: str, user_id: str) -> None:
        """Close the questions that replies to the person ended with: their next turn begins."""
        await self._service.close_choices(session_id, user_id)

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


def _may_answer(inbound: Inbound) -> bool:
    """Whether a message may answer a question, as far as can be seen without the store."""
    text = inbound.text
    return (
        inbound.kind == "message"
        and not inbound.attachments
        and len(text) <= MAX_ANSWER_CHARS
        and bool(inbound.reply_to or _MAY_ANSWER.match(text))
    )


def takes_words(question: StoredQuestion) -> bool:
    """Whether the answer is what the person writes."""
    return not question.ends_turn and bool(question.fields or not question.choices)


def answer_text(question: StoredQuestion) -> str:
    """What is replied to an accepted answer."""
    if question.outcome:
        return question.outcome
    answer = question.answer
    return f"Answered: {answer.choice}." if answer is not None else "Answered."


def _is_of_conversation(shown: ShownQuestion, session_id: str) -> bool:
    """Whether the question belongs to the conversation with this id or to a successor of it."""
    return base_session_id(shown.question.session) == base_session_id(session_id)


def _person(inbound: Inbound) -> str:
    return f"{inbound.channel}:{inbound.user_id}"


def _is_for_another(shown: ShownQuestion, inbound: Inbound) -> bool:
    """Whether the text is a choice of a question that a reply to another person ended with."""
    question = shown.question
    is_choice = question.ends_turn and inbound.text in question.choices
    return is_choice and shown.person not in ("", inbound.user_id)


def _with_choice(asked: Sequence[ShownQuestion], inbound: Inbound, passed: Inbound) -> Inbound:
    """The message, with the choice for its number if the last reply to the person ended with one.

    In a private chat the number is replaced when the turn begins.
    """
    ended = [one for one in asked if one.question.ends_turn and one.person == inbound.user_id]
    if not ended or passed.text == inbound.text or not passed.text.endswith(inbound.text):
        return passed
    choices = (*ended[-1].question.choices, "Other")
    found = find_choice(inbound.text, choices) if inbound.text.strip()[:1].isdigit() else None
    if found is None or not _could_be_read(ended[-1], inbound):
        return passed
    return replace(passed, text=passed.text.removesuffix(inbound.text) + found[0])


def _could_be_read(shown: ShownQuestion, inbound: Inbound) -> bool:
    """False for a message that was on its way before the question was delivered."""
    return bool(shown.sent) and not 0 < inbound.received < shown.sent
