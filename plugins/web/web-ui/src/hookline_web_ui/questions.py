"""Open questions on the page: the stored ones, and messages of plugins with buttons."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from hookline_hookspecs import Access, Choice, Host, Reply, StoredQuestion, StoreError
from hookline_hookspecs.drivers import Store
from hookline_hookspecs.questions import (
    QUESTIONS_TOPIC,
    AnswerFailed,
    NoSuchChoice,
    NotAnswerable,
    NotShown,
    QuestionClosed,
    Questions,
    abridged_preview,
)
from hookline_hookspecs.web import Identity, Problem, t

from .live_turns import LiveTurns
from .page_language import translated_question
from .session_owner import CHANNEL, Chat, is_mine, may_see, owner

MAX_PROMPTS = 256
"""Messages of plugins with buttons to remember."""
MAX_PARENTS = 8
"""Sub-agents between a question and the chat's session."""
RETRY_INTERVAL = 5.0
"""Seconds before the next attempt to listen to the store."""


@dataclass(slots=True, eq=False)
class ButtonPrompt:
    """A message of a plugin with buttons; a press is a message to that plugin.

    It disappears when the session's next turn begins.
    """

    id: str
    session: str
    chat: Chat
    shown: dict[str, Any]


class QuestionNotifier(Protocol):
    """Notifies people who look at no page."""

    async def question_opened(self, question: StoredQuestion, session: str) -> None:
        """Notify of a new question in a session."""

    async def question_closed(self, question: StoredQuestion) -> None:
        """Withdraw the notification of a question."""

    async def questions_compared(self, open_ids: Collection[str]) -> None:
        """Withdraw the notifications of all questions but these."""


class PageQuestions:
    """Shows the open questions of all sessions on the pages of who may see them.

    The store is the truth. This keeps only which questions pages have been told about, to tell
    them when those close.
    """

    def __init__(self, host: Host, live: LiveTurns, notifier: QuestionNotifier) -> None:
        self._host, self._live, self._notifier = host, live, notifier
        self._shown: dict[str, tuple[str, Chat]] = {}
        """The session and chat of each open question that pages know."""
        self._prompts: OrderedDict[str, ButtonPrompt] = OrderedDict()

    @property
    def _stored(self) -> Questions:
        return self._host.services[Questions]

    # Following the store

    def show(self) -> None:
        """Tell pages from now on which questions open and close, in any process."""
        self._host.signals.connect("question_opened", self._opened)
        self._host.signals.connect("question_closed", self._closed)
        self._host.spawn(self._follow(), "follow questions")

    def _opened(self, question: StoredQuestion, ctx: object = None) -> None:
        self._host.spawn(self._tell_opened(question), "show a question")

    def _closed(self, question: StoredQuestion, ctx: object = None) -> None:
        self._tell_closed(question)

    async def _follow(self) -> None:
        while True:
            try:
                async with self._host.services[Store].listen(QUESTIONS_TOPIC) as payloads:
                    await self._compare()
                    async for question_id in payloads:
                        await (self._update(question_id) if question_id else self._compare())
            except StoreError as error:
                self._host.log.warning("cannot follow questions: %s", error)
                await asyncio.sleep(RETRY_INTERVAL)

    async def _compare(self) -> None:
        """Tell pages everything that has changed since they were told."""
        found = await self._stored.open()
        for question_id in self._shown.keys() - {one.id for one in found}:
            await self._update(question_id)
        for question in found:
            await self._tell_opened(question)
        await self._notifier.questions_compared({one.id for one in found})

    async def _update(self, question_id: str) -> None:
        question = await self._stored.get(question_id)
        if question is None:
            self._shown.pop(question_id, None)
        elif question.state == "open":
            await self._tell_opened(question)
        else:
            self._tell_closed(question)

    async def _tell_opened(self, question: StoredQuestion) -> None:
        if question.id in self._shown or question.ends_turn:
            return  # the page shows the end of a turn itself
        chat = (question.channel, question.chat_id)
        self._shown[question.id] = (question.session, chat)
        session = await self._root(question.session)
        name = owner(chat)
        is_for_owner = name is not None and await self._may_answer(question, name)
        stored = await self._stored.get(question.id)
        if stored is None or stored.state != "open":  # closed before pages were told of it
            self._shown.pop(question.id, None)
            return
        if question.id not in self._shown:
            return  # closed meanwhile
        self._shown[question.id] = ("" if question.handler else session, chat)
        to = f"{CHANNEL}:{name}" if is_for_owner else ""
        self._live.tell_question(session, chat, None, _as_json(question, session), to)
        notified = self._notifier.question_opened(question, session)
        self._host.spawn(notified, "notify of a question")

    def _tell_closed(self, question: StoredQuestion) -> None:
        if (known := self._shown.pop(question.id, None)) is not None:
            self._live.tell(*known, "answered", wide=True, fields=closing_fields(question))
            withdrawn = self._notifier.question_closed(question)
            self._host.spawn(withdrawn, "withdraw a notification")

    async def _root(self, session_id: str) -> str:
        """The session in whose chat a question is shown: for a sub-agent, that of its parent."""
        for _ in range(MAX_PARENTS):
            rows = await self._host.storage.fetch("parent", id=session_id)
            if not rows or rows[0]["kind"] == "chat" or not rows[0]["parent_id"]:
                break
            session_id = rows[0]["parent_id"]
        return session_id

    async def _may_answer(self, question: StoredQuestion, name: str) -> bool:
        access: Access | None = self._host.services.get(Access)
        return access is not None and await access.may_answer(question, CHANNEL, name)

    # Looking

    async def of_session(self, session: str, chat: Chat, who: Identity) -> list[dict[str, Any]]:
        """Return the open questions of a session for this person, oldest first."""
        found = [
            await self._for_person(one, session, who)
            for one in await self._stored.open(chat=chat)
            if (one.channel, one.chat_id) == chat
            and not one.handler
            and await self._root(one.session) == session
        ]
        prompts = [one for one in self._prompts.values() if one.session == session]
        return found + [
            translated_question({**one.shown, "may_answer": is_mine(who, one.chat)})
            for one in prompts
        ]

    async def inbox(self, who: Identity, *, whole: str = "") -> list[dict[str, Any]]:
        """Return the open questions that this person may answer, of all chats, oldest first.

        The one with the id ``whole`` has all of its preview, and its ``digest``.
        """
        found = []
        for one in await self._stored.open():
            if await self._may_answer(one, who.name):
                row = await self._for_person(one, await self._root(one.session), who)
                found.append(_with_whole_preview(row, one) if one.id == whole else row)
        return found

    async def _for_person(
        self, question: StoredQuestion, session: str, who: Identity
    ) -> dict[str, Any]:
        may = await self._may_answer(question, who.name)
        return translated_question({**_as_json(question, session), "may_answer": may})

    def is_open(self, session: str) -> bool:
        """Return whether a session has an open question."""
        prompts = [one.session for one in self._prompts.values()]
        return session in prompts or any(session == known for known, _ in self._shown.values())

    # Answering

    async def whole(self, who: Identity, session: str, question_id: str) -> dict[str, Any]:
        """Return a question with all of its preview, and the ``digest`` with which it is accepted.

        Raises :class:`Problem` (404).
        """
        question = await self._find(who, session, question_id)
        if question is None:
            raise Problem(404, "not_found", t("Question not found."))
        return _with_whole_preview(await self._for_person(question, session, who), question)

    async def _find(self, who: Identity, session: str, question_id: str) -> StoredQuestion | None:
        """A stored question that this person may know of; None if there is none with this id.

        Raises :class:`Problem` (404).
        """
        question = await self._stored.get(question_id)
        if question is None or question.ends_turn:
            return None
        sees = may_see(who, (question.channel, question.chat_id))
        if not (sees or await self._may_answer(question, who.name)):
            raise Problem(404, "not_found", t("Question not found."))
        if session not in (question.session, await self._root(question.session)):
            raise Problem(404, "not_found", t("Question not found in this chat."))
        return question

    async def answer(
        self, who: Identity, session: str, question_id: str, choice: str, shown: str
    ) -> StoredQuestion | None:
        """Answer a stored question and return it; None if there is none with this id.

        ``shown`` is the digest of a long question that the page has shown whole.

        Raises :class:`Problem`: 404 if the person may not know of it, 403, 400 or 409 if this is no
        valid answer.
        """
        question = await self._find(who, session, question_id)
        if question is None:
            return None
        try:
            return await self._stored.answer(question.id, choice, CHANNEL, who.name, shown=shown)
        except NotShown as error:
            raise Problem(409, "not_shown", str(error)) from None
        except (AnswerFailed, QuestionClosed) as error:
            raise Problem(409, "answered", str(error)) from None
        except NotAnswerable as error:
            raise Problem(403, "not_asked", str(error)) from None
        except NoSuchChoice as error:
            raise Problem(400, "no_choice", str(error)) from None

    # Messages with buttons

    def prompt(self, reply: Reply, session: str) -> None:
        """Show the buttons of a plugin's message outside of a turn."""
        chat = (reply.session.channel, reply.session.chat_id)
        shown = question_json(reply.id, session, "trust", reply.text, reply.choices)
        shown |= {"may_answer": True}
        self._prompts[reply.id] = ButtonPrompt(reply.id, session, chat, shown)
        while len(self._prompts) > MAX_PROMPTS:
            self._prompts.popitem(last=False)
        to = f"{CHANNEL}:{owner(chat)}"
        self._live.tell_question(session, chat, None, shown, to, operators=False)

    def find_prompt(self, who: Identity, prompt_id: str) -> ButtonPrompt | None:
        """Return a plugin's message with buttons that this person may press."""
        prompt = self._prompts.get(prompt_id)
        return prompt if prompt is not None and is_mine(who, prompt.chat) else None

    def end_prompt(self, prompt: ButtonPrompt, by: str = "", choice: str = "") -> None:
        """Remove the buttons of a message that was answered."""
        if self._prompts.pop(prompt.id, None) is not None:
            fields = {"question": prompt.id, "choice": choice or None, "by": by or None}
            fields |= {"kind": prompt.shown["kind"]}
            fields |= {"words": "", "state": "answered" if by else "closed"}
            self._live.tell(prompt.session, prompt.chat, "answered", wide=True, fields=fields)

    def turn_began(self, session: str) -> None:
        """Remove the buttons of earlier messages in the session."""
        for prompt in list(self._prompts.values()):
            if prompt.session == session:
                self.end_prompt(prompt)


def question_json(
    question_id: str, session: str, kind: str, text: str, choices: Sequence[str | Choice]
) -> dict[str, Any]:
    """Return a question without what only stored ones have."""
    buttons = [Choice(one) if isinstance(one, str) else one for one in choices]
    return {
        "id": question_id,
        "session": session,
        "kind": kind,
        "text": text,
        "choices": [{"id": one.value, "label": one.label, "style": one.style} for one in buttons],
        "preview": "",
        "abridged": 0,
        "digest": "",
        "marks": [],
        "reason": "",
        "tool": "",
        "expires": None,
        "chat": "",
        "asker": "",
        "inbox": False,
        "ends_turn": False,
        "fields": [],
        "takes_words": False,
    }


def _as_json(question: StoredQuestion, session: str) -> dict[str, Any]:
    made = question_json(question.id, session, question.kind, question.text, question.choices)
    return made | {
        "preview": abridged_preview(question.preview),
        "abridged": len(question.preview) if question.is_long else 0,
        "marks": list(question.marks),
        "reason": question.reason,
        "tool": question.tool,
        "expires": question.expires,
        "chat": question.chat,
        "asker": f"{question.channel}:{question.asker}" if question.asker else "",
        "inbox": True,
        "elsewhere": bool(question.handler),
        "fields": [{**asdict(one), "choices": one.choices} for one in question.fields],
        "takes_words": not question.choices and not question.fields,
    }


def _with_whole_preview(shown: dict[str, Any], question: StoredQuestion) -> dict[str, Any]:
    return {**shown, "preview": question.preview, "digest": question.digest}


def closing_fields(question: StoredQuestion) -> dict[str, Any]:
    """Return how a question was closed, in the form of the event ``answered``."""
    answer = question.answer
    return {
        "question": question.id,
        "kind": question.kind,
        "state": question.state,
        "choice": answer.choice if answer is not None else None,
        "words": answer.words if answer is not None else "",
        "by": (answer.by or None) if answer is not None else None,
    }
