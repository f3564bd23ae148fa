"""Sends a question to the chats of the people who may answer it."""

from __future__ import annotations

from collections.abc import Sequence

from hookline_hookspecs import crash
from hookline_hookspecs.gateway import GatewayHost
from hookline_hookspecs.optional_services import Access, QuestionChat
from hookline_hookspecs.questions import StoredQuestion
from hookline_hookspecs.replies import Reply
from hookline_hookspecs.turns import Session

from ..engine import Engine
from .table import QuestionPlace, QuestionTable
from .text import question_text


async def show_question(
    engine: Engine, stored: StoredQuestion, thread: str | None = None
) -> Sequence[QuestionChat]:
    """Send the question to the chats of those who may answer, and return them.

    ``thread`` is that of the turn in its own chat. Raises ``StoreError``.
    """
    access: Access | None = engine.services.get(Access)
    chats = await access.chats_to_ask(stored) if access is not None else ()
    for number, chat in enumerate(chats):
        reply_id = f"question-{stored.id}-{number}"
        place = QuestionPlace(chat.channel, chat.chat_id, chat.person, reply_id)
        await QuestionTable(engine.store).add_chat(stored.id, place)
        await engine.services[GatewayHost].post(_question_reply(stored, chat, reply_id, thread))
    if chats:
        crash.point("after-shown")
    return chats


def is_of_chat(question: StoredQuestion, chat: QuestionChat) -> bool:
    """Whether it is the chat that the question's turn belongs to."""
    return (chat.channel, chat.chat_id) == (question.channel, question.chat_id)


def _question_reply(
    stored: StoredQuestion, chat: QuestionChat, reply_id: str, thread: str | None
) -> Reply:
    """The reply that shows the question. It answers no message: the turn's own reply does."""
    is_own = is_of_chat(stored, chat) and not stored.handler
    session_id = stored.session if is_own else ""
    return Reply(
        Session(session_id, chat.channel, chat.chat_id, None, stored.created, kind="none"),
        question_text(stored, for_other=not is_own),
        id=reply_id,
        choices=stored.choices[-1:] if stored.is_long else stored.choices,
        thread=thread if is_own else None,
        kind="question",
        person=chat.person,
        question=stored.id,
    )
