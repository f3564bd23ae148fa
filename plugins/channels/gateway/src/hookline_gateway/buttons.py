"""Questions shown on channels, and who may answer each: only the person who was asked.

A question of a turn is stored, because its buttons stay after a restart; a question of a command
ends with the process.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import OrderedDict
from collections.abc import Awaitable
from dataclasses import asdict, dataclass, replace

from hookline_hookspecs import Deny, Host, Inbound, Reply, WorkDistribution
from hookline_hookspecs.inbound import is_private_chat

Chat = tuple[str, str]
MAX_CHATS = 2048
"""Messages whose author, and chats whose questions, are remembered."""
MAX_QUESTIONS_PER_CHAT = 32
"""The newest questions of a chat that are remembered."""
PRESS_TIMEOUT = 2.0
"""Seconds that a press waits for its question, while the chat's reply is being recorded."""
QUESTION_CLOSED = "That question is already answered or closed. Nothing was changed."
_SUCCESSOR = re.compile(r"~\d+$")
NOT_ASKED = "Only the person who was asked may answer. Nothing was changed."


@dataclass(slots=True)
class ShownQuestion:
    """A question on a channel.

    Attributes:
        ids: the ids of its messages.
        person: who was asked; empty if unknown.
        ended_by: the message that closed it.
        kept: whether it is stored.
        conversation: the session of the person's message, if a chat has several.
    """

    ids: list[str]
    choices: list[str]
    person: str
    ended_by: str = ""
    kept: bool = True
    conversation: str = ""


class Questions:
    """The questions of every chat."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._authors: OrderedDict[tuple[Chat, str], tuple[str, bool, str]] = OrderedDict()
        """Who wrote a message, whether it began a turn, and in which conversation."""
        self._under_way: OrderedDict[tuple[Chat, str], None] = OrderedDict()
        self._asked: OrderedDict[Chat, list[ShownQuestion]] = OrderedDict()

    def wrote(self, inbound: Inbound, *, begins_turn: bool) -> None:
        """Remember the author of an accepted message: its reply may be a question to them."""
        key = (_chat(inbound), inbound.message_id)
        self._authors[key] = (inbound.user_id, begins_turn, _conversation(inbound))
        while len(self._authors) > MAX_CHATS:
            self._authors.popitem(last=False)

    def received(self, inbound: Inbound) -> None:
        """Record a message as being processed, until :meth:`settled`."""
        self._under_way[_chat(inbound), inbound.message_id] = None
        while len(self._under_way) > MAX_CHATS:
            self._under_way.popitem(last=False)

    def settled(self, inbound: Inbound) -> None:
        """Record that a message needs no further work."""
        self._under_way.pop((_chat(inbound), inbound.message_id), None)

    def shown(self, reply: Reply) -> Awaitable[None] | None:
        """Remember the question of a delivered reply."""
        if not reply.choices or not reply.delivered:
            return None
        if not self._host.services[WorkDistribution].sends(reply.session.channel):
            return None  # the process that has sent it stores the question
        chat = (reply.session.channel, reply.session.chat_id)
        found = self._authors.get((chat, reply.in_reply_to or ""))
        person, is_kept, within = found if found is not None else (reply.person, True, "")
        choices = [str(one) for one in reply.choices]
        asked = ShownQuestion(
            [*reply.delivered], choices, person, kept=is_kept, conversation=within
        )
        self._under_way[chat, reply.id] = None  # a press may have arrived already, and waits
        return self._remember(chat, reply.id, asked)

    async def _remember(self, chat: Chat, reply_id: str, asked: ShownQuestion) -> None:
        try:
            (await self._of(chat)).append(asked)
        finally:
            self._under_way.pop((chat, reply_id), None)
        await self._keep(chat)

    async def answered(self, inbound: Inbound) -> Inbound | Deny | None:
        """Return a message with the chosen text, a refusal, or None if it answers nothing.

        A press answers its question once, for the person who was asked. In a chat with others, a
        number answers the person's last question; elsewhere core does that.
        """
        chat, target = _chat(inbound), inbound.target or inbound.reply_to or ""
        open_ = await self._of(chat)
        question = _with_id(open_, target)
        if question is None and inbound.kind == "press":
            question = await self._awaited(inbound, chat, target)
        if question is not None and (inbound.kind == "press" or inbound.text in question.choices):
            return await self._pressed(inbound, question, chat)
        if inbound.kind == "press":
            return Deny(QUESTION_CLOSED)
        mine = [
            one
            for one in open_
            if (one.person, one.conversation) == (inbound.user_id, _conversation(inbound))
            and _is_open(one, inbound)
        ]
        if not mine or inbound.forwarded:
            return None
        for one in mine:  # any message of the person who was asked is an answer
            one.ended_by = inbound.message_id
        await self._keep(chat)
        if is_private_chat(inbound):
            return None
        return replace(inbound, text=_chosen(mine[-1], inbound.text))

    async def _pressed(
        self, inbound: Inbound, question: ShownQuestion, chat: Chat
    ) -> Inbound | Deny:
        is_mine = question.person == inbound.user_id or (
            not question.person and is_private_chat(inbound)
        )
        if inbound.forwarded or not is_mine:
            return Deny(NOT_ASKED)
        if not _is_open(question, inbound) or inbound.text not in question.choices:
            return Deny(QUESTION_CLOSED)
        question.ended_by = inbound.message_id
        await self._keep(chat)
        return inbound

    async def _awaited(self, inbound: Inbound, chat: Chat, target: str) -> ShownQuestion | None:
        """Wait for a question that was delivered but is not recorded yet; None if there is none."""
        key, ends = (chat, inbound.message_id), asyncio.get_running_loop().time() + PRESS_TIMEOUT
        while asyncio.get_running_loop().time() < ends:
            if (found := _with_id(self._asked.get(chat, []), target)) is not None:
                return found
            if self._is_shared:
                await self._of(chat)
            elif not any(one != key and one[0] == chat for one in self._under_way):
                return None
            await asyncio.sleep(0.02)
        return None

    @property
    def _is_shared(self) -> bool:
        """Whether other processes show questions of the same chats."""
        return self._host.services[WorkDistribution].is_shared

    async def _of(self, chat: Chat) -> list[ShownQuestion]:
        if self._is_shared:
            self._asked.pop(chat, None)
        if chat not in self._asked:
            stored = await self._host.storage.kv.get(_key(chat), [])
            self._asked.setdefault(chat, [ShownQuestion(**one) for one in stored])
            while len(self._asked) > MAX_CHATS:
                self._asked.popitem(last=False)
        return self._asked[chat]

    async def _keep(self, chat: Chat) -> None:
        asked = self._asked[chat]
        del asked[:-MAX_QUESTIONS_PER_CHAT]
        kept = [asdict(one) for one in asked if one.kept]
        await self._host.storage.kv.set(_key(chat), kept)


def _is_open(question: ShownQuestion, inbound: Inbound) -> bool:
    """Whether a question is open; also for the message that answered it, repeated after a crash."""
    return question.ended_by in ("", inbound.message_id)


def _with_id(asked: list[ShownQuestion], id_: str) -> ShownQuestion | None:
    return next((one for one in reversed(asked) if id_ and id_ in one.ids), None)


def _chosen(question: ShownQuestion, text: str) -> str:
    """Return the choice with a number, else ``text``."""
    number = text.strip().rstrip(".")
    if not (number.isascii() and number.isdecimal()) or len(number) > 9:
        return text
    choices = [*question.choices, "Other"]
    return choices[int(number) - 1] if 0 < int(number) <= len(choices) else text


def _chat(inbound: Inbound) -> Chat:
    return (inbound.channel, inbound.chat_id)


def _conversation(inbound: Inbound) -> str:
    """Return the first session of a message's conversation; empty if it names none."""
    return _SUCCESSOR.sub("", inbound.session_id or "")


def _key(chat: Chat) -> str:
    return "asked:" + json.dumps(chat)
