"""Open questions on the page: who may answer, and who answered first."""

from __future__ import annotations

import asyncio
import json
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from hookline_hookspecs import Access, Choice, Context, Host, Question, Reply
from hookline_hookspecs.web import Identity, Problem

from .live_turns import LiveTurns
from .session_owner import CHANNEL, Chat, is_mine, owner

MAX_QUESTIONS = 2048
"""Open questions to remember, and as many closed ones."""
APPROVAL_TIMEOUT = 290.0
"""Seconds after which an approval counts as refused."""


@dataclass(slots=True, eq=False)
class OpenQuestion:
    """A question without an answer.

    Attributes:
        answer: the future of a call that waits in this process.
        asks: the other process in which a call waits.
    """

    id: str
    session: str
    chat: Chat
    told: dict[str, Any]
    choices: Sequence[Choice]
    answer: asyncio.Future[str] | None = None
    until: float = 0.0
    asks: str = ""
    turn: str | None = None
    asked: str = ""
    """Markdown to show for a question about another chat once it is closed."""


@dataclass(frozen=True, slots=True)
class ClosedQuestion:
    """How a question was closed: who chose what; empty if it was not answered."""

    chat: Chat
    by: str
    choice: str


class Questions:
    """The open questions of this process, by id.

    An approval is answered by the owner of the chat; ``access`` passes on only what that person
    may answer. Other questions are messages with choices, and a choice is a press on the message.
    """

    def __init__(self, host: Host, live: LiveTurns) -> None:
        self._host, self._live = host, live
        self._open: OrderedDict[str, OpenQuestion] = OrderedDict()
        self._over: OrderedDict[str, ClosedQuestion] = OrderedDict()
        self.tell_answer: Callable[[str, str, str], None] | None = None
        """Called as ``tell_answer(id, by, label)`` to inform the process that asked."""
        self.ended: Callable[[OpenQuestion, str, str], None] | None = None
        """Called as ``ended(question, by, choice)`` when a question is closed."""

    # Asking

    async def ask(self, ctx: Context, question: Question, session: str) -> str | None:
        """Show an approval and return the choice; None if the page cannot ask it."""
        chat = (ctx.session.channel, ctx.session.chat_id)
        name = owner(chat)
        if name is None or self._live.hub.closed or not await self._may_approve(name):
            return None
        now = self._host.now()
        tool = question.call.name if question.call is not None else ""
        made = self._made(uuid4().hex, session, chat, question, now + APPROVAL_TIMEOUT)
        made.told |= {**_parts(question), "reason": question.reason, "tool": tool}
        made.answer = asyncio.get_running_loop().create_future()
        self._show(made, ctx.turn.id)
        try:
            async with asyncio.timeout(APPROVAL_TIMEOUT):
                return await made.answer
        except TimeoutError:
            return None
        finally:
            self.end(made.id, "", "")

    def ask_for_remote(
        self, process: str, session: str, turn: str, chat: Chat, told: Mapping[str, Any]
    ) -> None:
        """Show an approval of a call that waits in another process."""
        if told["id"] in self._open or told["id"] in self._over:
            return
        buttons = [Choice(one["id"], one["label"], one["style"]) for one in told["choices"]]
        made = OpenQuestion(
            told["id"], session, chat, dict(told), buttons, until=told["expires"] or 0.0
        )
        made.asks = process
        self._show(made, turn)

    def answer_from_remote(self, id_: str, by: str, label: str) -> None:
        """Accept an answer that another process received for a call that waits here."""
        made = self._open.get(id_)
        if made is not None and made.answer is not None and not made.answer.done():
            made.answer.set_result(label)
            self.end(id_, by, label)

    def show_again(self) -> None:
        """Publish again every approval of a call that waits in this process."""
        for made in [one for one in self._open.values() if one.answer is not None]:
            self._show(made, made.turn)

    async def _may_approve(self, name: str) -> bool:
        access = self._host.services.get(Access)
        return access is None or await access.may_approve(CHANNEL, name)

    def shown(self, reply: Reply, session: str) -> None:
        """Open the question of a delivered message with choices."""
        chat = (reply.session.channel, reply.session.chat_id)
        asked = Question(reply.text, reply.choices)
        fleeting = not reply.session.id
        until = self._host.now() + APPROVAL_TIMEOUT if fleeting else 0.0
        made = self._made(reply.id, session, chat, asked, until)
        if fleeting:
            text, preview = _parted(reply.text, len(reply.choices))
            made.told |= {"kind": "approval", "elsewhere": True, "text": text, "preview": preview}
            made.asked = without_choices(reply.text, reply.choices)
        self._show(made, None)

    def _made(
        self, id_: str, session: str, chat: Chat, asked: Question, until: float
    ) -> OpenQuestion:
        buttons = [one if isinstance(one, Choice) else Choice(one) for one in asked.choices]
        told = _told(id_, asked.kind, asked.text, buttons, until or None)
        return OpenQuestion(id_, session, chat, told, buttons, until=until)

    def _show(self, made: OpenQuestion, turn: str | None) -> None:
        self._open[made.id], made.turn = made, turn
        while len(self._open) > MAX_QUESTIONS:
            self._open.popitem(last=False)
        to = f"{CHANNEL}:{owner(made.chat)}"
        self._live.tell_question(made.session, made.chat, turn, made.told, to)

    def end(self, id_: str, by: str, choice: str) -> None:
        """Close a question; do nothing if it is closed already."""
        if (made := self._open.pop(id_, None)) is None:
            return
        self._over[made.id] = ClosedQuestion(made.chat, by, choice)
        while len(self._over) > MAX_QUESTIONS:
            self._over.popitem(last=False)
        fields = {"question": made.id, "choice": choice or None, "by": by or None}
        self._live.tell(made.session, made.chat, "answered", wide=True, fields=fields)
        if self.ended is not None:
            self.ended(made, by, choice)

    # Looking

    def find(self, id_: str) -> OpenQuestion | None:
        """Return an open question."""
        made = self._open.get(id_)
        if made is not None and made.until and made.until < self._host.now():
            self.end(id_, "", "")
            return None
        return made

    def of(self, session: str, who: Identity) -> list[dict[str, Any]]:
        """Return the open questions of a session for this person, oldest first."""
        found = [made for made in list(self._open.values()) if made.session == session]
        return [
            {**made.told, "session": session, "may_answer": is_mine(who, made.chat)}
            for made in found
            if self.find(made.id) is not None and not made.told.get("elsewhere")
        ]

    def elsewhere(self, who: Identity) -> list[dict[str, Any]]:
        """Return the open questions to this person about other chats, oldest first.

        Pages show them in every chat.
        """
        return [
            {**made.told, "session": made.session, "may_answer": True}
            for made in list(self._open.values())
            if made.told.get("elsewhere") and is_mine(who, made.chat) and self.find(made.id)
        ]

    def is_open(self, session: str) -> bool:
        """Return whether a session has an open question."""
        found = self._open.values()
        return any(one.session == session and not one.told.get("elsewhere") for one in found)

    # Answering

    def answer(self, who: Identity, made: OpenQuestion, choice: str) -> str:
        """Accept an answer and return the label of the choice.

        Raises :class:`Problem`: 403 if the person was not asked, 400 for an unknown choice.
        """
        if not is_mine(who, made.chat):
            raise Problem(403, "not_asked", "Only the person who was asked can answer.")
        button = next((one for one in made.choices if choice in (one.id, one.label)), None)
        if button is None:
            named = ", ".join(one.label for one in made.choices)
            raise Problem(
                400, "no_choice", f"{choice!r} is not one of the choices.", f"Send one of: {named}."
            )
        if made.answer is not None and not made.answer.done():
            made.answer.set_result(button.label)
        self.end(made.id, who.person, button.label)
        if made.asks and self.tell_answer is not None:
            self.tell_answer(made.id, who.person, button.label)
        return button.label

    def is_over(self, who: Identity, id_: str) -> Problem:
        """Return the error for a question that is closed."""
        over = self._over.get(id_)
        if over is None or not is_mine(who, over.chat):
            return Problem(404, "not_found", "Question not found, or already closed.")
        if not over.by:
            return Problem(409, "answered", "The question has expired or was answered elsewhere.")
        return Problem(409, "answered", f"{over.by} answered first: {over.choice}.")

    def turn_began(self, session: str, process: str = "") -> None:
        """Close questions when a turn starts, here or in another process.

        Its message answers the question at the end of the last turn, and a process that has lost
        a turn no longer waits for an answer.
        """
        for made in list(self._open.values()):
            is_left = bool(made.asks) and made.asks != process
            is_answered = made.answer is None and not made.until
            if made.session == session and (is_left or is_answered):
                self.end(made.id, "", "")


def of_session(row: Mapping[str, Any], turn: str, who: Identity) -> dict[str, Any]:
    """Return the question that a session's last turn ended with, from the store."""
    chat = (row["channel"], row["chat_id"])
    try:
        stored = json.loads(row["question"])
        choices = [
            Choice(**one) if isinstance(one, dict) else Choice(one) for one in stored["choices"]
        ]
        text = str(stored["text"])
    except (ValueError, LookupError, TypeError):
        text, choices = "(The question cannot be read.)", []
    told = _told(f"{turn}-reply", "clarify", text, choices, None)
    return {**told, "session": row["id"], "may_answer": is_mine(who, chat)}


def _told(
    id_: str, kind: str, text: str, buttons: Sequence[Choice], until: float | None
) -> dict[str, Any]:
    choices = [{"id": one.id, "label": one.label, "style": one.style} for one in buttons]
    text = _without_list(text, [one.label for one in buttons])
    told = {"id": id_, "kind": kind, "text": text, "choices": choices, "expires": until}
    return told | {"preview": "", "reason": "", "tool": ""}


def _parted(text: str, choices: int) -> tuple[str, str]:
    """Return the words and the literal preview of an approval that ``access`` wrote as Markdown.

    It ends with a block of code, which does not contain its own fence, then the choices and how
    to type one.
    """
    lines = text.split("\n")
    end = len(lines) - 2 - choices
    if end < 1 or len(lines[end]) < 3 or set(lines[end]) != {"`"}:
        return text, ""
    begin = next((at for at in range(end - 1, -1, -1) if lines[at] == lines[end]), end)
    if begin == end:
        return text, ""
    return "\n".join(lines[:begin]), "\n".join(lines[begin + 1 : end])


def without_choices(text: str, choices: Sequence[str | Choice]) -> str:
    """Return an approval that ``access`` wrote without the choices and how to type one.

    The page has buttons for them.
    """
    lines = text.split("\n")
    end = len(lines) - 1 - len(choices)
    labels = (one.label if isinstance(one, Choice) else one for one in choices)
    listed = [f"{number}. {label}" for number, label in enumerate(labels, 1)]
    is_so = bool(listed) and end > 0 and lines[end:-1] == listed
    return "\n".join(lines[:end]) if is_so else text


def _without_list(text: str, labels: Sequence[str]) -> str:
    """Return the text without the numbered choices at its end; the page has buttons for them."""
    for listed in ([*labels, "Other"], labels):
        lines = "\n".join(f"{number}. {label}" for number, label in enumerate(listed, 1))
        if lines and text.endswith(f"\n{lines}"):
            return text.removesuffix(f"\n{lines}")
    return text


def _parts(question: Question) -> dict[str, Any]:
    """Return the ``preview`` and its risky parts, which are listed below it, as ``marks``.

    The page marks them in place. If the call itself may have written such a list, the preview is
    left unchanged.
    """
    body, _, below = question.preview.rpartition("\n\nRisky: ")
    given = str(question.call.arguments) if question.call is not None else "Risky:"
    repeated = [line.strip("…") for line in re.sub("[⟦⟧]", "", below).split("\nRisky: ")]
    if not body or "Risky:" in given or not all(one in body for one in repeated):
        return {"preview": question.preview}
    return {"preview": body, "marks": re.findall("⟦(.+?)⟧", below)}
