"""Pairing requests as questions to admins, and the texts that go with them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from hookline_hookspecs import Host, Question, Questions, Reply, Session, StoredQuestion
from hookline_hookspecs.gateway import GatewayHost

from .chats import Chat
from .pairing import PairingRequest
from .people import BLOCK, HANDLER, LET_IN
from .texts import question_text

Decide = Callable[[str, str, bool], Awaitable[str]]
"""Lets in or blocks the person with a code: takes the code, who decides, and whether to block."""


class PairingQuestions:
    """Asks admins about new people, and acts on the answers (``QuestionHandler``)."""

    name = HANDLER

    def __init__(self, host: Host, decide: Decide) -> None:
        self._host = host
        self._decide = decide

    async def ask(self, request: PairingRequest) -> None:
        """Ask the admins whether the person may write, until the request expires."""
        person = request.person
        chat = Session("", person.place, request.chat_id, None, request.opened, kind="none")
        await self._host.services[Questions].post(
            Question(question_text(request), (LET_IN, BLOCK), kind="trust"),
            HANDLER,
            str(person),
            expires=request.expires,
            session=chat,
            asker=person.user_id,
            data={"code": request.code},
            show=True,
        )

    async def answered(self, question: StoredQuestion) -> str:
        """Let the person in, or block them."""
        answer = question.answer
        if answer is None:
            return ""
        return await self._decide(question.data["code"], answer.by, answer.choice == BLOCK)

    async def tell(self, chat: Chat, text: str) -> None:
        """Send a text to a chat. Raises ``StoreError``."""
        session = Session("", *chat, None, self._host.now(), kind="none")
        await self._host.services[GatewayHost].post(Reply(session, text))
