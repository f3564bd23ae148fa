"""Questions to admins in their own chats, and the answers that come back as messages.

A question is sent directly by the channel, not through the outbox, because it ends with the process
and must not be shown again after a restart.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from uuid import uuid4

from hookline_hookspecs import Host, Inbound, Reply, Session, WorkDistribution, message_ids
from hookline_hookspecs.drivers import Store

from .chats import Chat
from .codes import QUESTION_CODE_CHARS, new_code
from .texts import CHOICES, LET_IN, parse_choice, parse_pairing_choice

MAX_SHOWN_MESSAGES = 256
"""Messages with buttons that are remembered."""
OPEN_PREFIX = "open:"
"""Key prefix, before the code of an open question, in storage that processes share."""
SHOWN_PREFIX = "shown:"
"""Key prefix, before the chat and message that show a question."""
SHOWING_PREFIX = "showing:"
"""Key prefix, before the chat and a reply that is being sent and has no message id yet."""
ANSWERS_TOPIC = "access:answers"
"""The topic of answers to questions of other processes."""
SHOWN_SECONDS = 2 * 86_400.0
"""Seconds after which a message that showed a question is forgotten."""
MAX_ATTEMPTS = 3
"""Attempts to send a message, one and then two seconds apart."""
POLL_INTERVAL = 0.1
"""Seconds between two looks for the command of a button while another process is sending."""
SHOWING_TIMEOUT = 30.0
"""Seconds after which a process that is sending is given up."""
_WITH_CODE = re.compile(r"(?:/(approve|deny)\s+)?([A-Za-z0-9]{5})(?:\s+(.{1,40}))?", re.IGNORECASE)


@dataclass(slots=True, eq=False)
class OpenQuestion:
    """A question that an admin can answer."""

    code: str
    choices: Sequence[str]
    session: str = ""
    answer: asyncio.Future[str] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    def settle(self, choice: str) -> bool:
        """Answer the question; False if it is already answered."""
        if self.answer.done():
            return False
        self.answer.set_result(choice)
        return True


class AdminQuestions:
    """The open questions, and the messages that show them."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._open: dict[str, OpenQuestion] = {}
        self._shown: OrderedDict[tuple[Chat, str], str] = OrderedDict()
        """By chat and message id: the command that a choice is appended to."""

    @contextmanager
    def opened(self, choices: Sequence[str], session: str = "") -> Iterator[OpenQuestion]:
        """Open a question of a session with these choices while the block runs."""
        while (code := new_code(QUESTION_CODE_CHARS)) in self._open:
            pass
        made = self._open[code] = OpenQuestion(code, choices, session)
        try:
            yield made
        finally:
            del self._open[code]
            made.answer.cancel()

    @asynccontextmanager
    async def answered_elsewhere(self, waiting: OpenQuestion) -> AsyncIterator[None]:
        """While the block runs, an answer given to another process settles the question too.

        Raises ``StoreError``.
        """
        if not self._is_shared:
            yield
            return
        kv, key = self._host.storage.kv, OPEN_PREFIX + waiting.code
        async with self._host.services[Store].listen(ANSWERS_TOPIC) as answers:
            receiving = self._host.spawn(self._receive(answers), "receive answers")
            await kv.set(key, [str(choice) for choice in waiting.choices])
            try:
                yield
            finally:
                receiving.cancel()
                await kv.delete(key)

    async def _receive(self, answers: AsyncIterator[str]) -> None:
        async for payload in answers:
            if payload:
                code, choice = json.loads(payload)
                if (waiting := self.find(code)) is not None:
                    waiting.settle(choice)

    async def choices_elsewhere(self, code: str) -> Sequence[str] | None:
        """The choices of another process's question; None if there is no such question."""
        found = (
            await self._host.storage.kv.get(OPEN_PREFIX + code.upper()) if self._is_shared else None
        )
        return [str(choice) for choice in found] if found else None

    async def answer_elsewhere(self, code: str, choice: str) -> None:
        """Send the answer to the process that asks. Raises ``StoreError``."""
        await self._host.services[Store].notify(ANSWERS_TOPIC, json.dumps([code.upper(), choice]))

    @property
    def _is_shared(self) -> bool:
        """Whether another process may receive the answer."""
        return self._host.services[WorkDistribution].is_shared

    def find(self, code: str) -> OpenQuestion | None:
        """The open question with this code, in any letter case."""
        return self._open.get(code.upper())

    async def show(
        self, chat: Chat, text: str, choices: Sequence[str] = (), command: str = ""
    ) -> bool:
        """Send a text to a chat, with buttons if its channel has them; False if it failed.

        A pressed button becomes ``command`` followed by the choice.
        """
        channel = next((known for known in self._host.channels() if known.name == chat[0]), None)
        if channel is None:
            return False
        session = Session("", *chat, None, self._host.now(), kind="none")
        reply = Reply(session, text, id=f"access-{uuid4().hex}", choices=tuple(choices))
        async with self._showing(chat, reply):
            for attempt in range(MAX_ATTEMPTS):
                await asyncio.sleep(attempt)
                try:
                    ids = message_ids(await channel.send(reply))
                except Exception as error:
                    self._host.log.warning("channel %s: %s", chat[0], error)
                    continue
                if choices:
                    await self._note(chat, ids, command)
                return True
        return False

    @asynccontextmanager
    async def _showing(self, chat: Chat, reply: Reply) -> AsyncIterator[None]:
        """While the block runs, a button press in another process waits for the command."""
        if not (reply.choices and self._is_shared):
            yield
            return
        kv, key = self._host.storage.kv, _showing_key(chat) + reply.id
        await kv.set(key, {"at": self._host.now()})
        try:
            yield
        finally:
            await kv.delete(key)

    async def _note(self, chat: Chat, ids: Sequence[str], command: str) -> None:
        """Store the command of the buttons of these messages."""
        self._shown.update({(chat, id_): command for id_ in ids})
        if self._is_shared:
            for id_ in ids:
                kept = {"command": command, "at": self._host.now()}
                await self._host.storage.kv.set(_shown_key(chat, id_), kept)
        while len(self._shown) > MAX_SHOWN_MESSAGES:
            self._shown.popitem(last=False)

    async def command_of(self, inbound: Inbound) -> str | None:
        """The command that a message stands for, if it answers a question.

        It is a pressed button or a reply to the message with the question, or the code of an open
        question with a choice.
        """
        text = inbound.text.strip()
        chat = (inbound.channel, inbound.chat_id)
        shown = self._shown.get((chat, inbound.reply_to or ""))
        if shown is None and inbound.reply_to and self._is_shared:
            shown = await self._shown_elsewhere(chat, inbound.reply_to, inbound)
        if shown is not None and shown.startswith("/pair "):
            choice = parse_pairing_choice(text)
            return None if choice is None else shown + ("" if choice == LET_IN else " block")
        if shown is not None and (choice := await self._meant(shown.split()[1], text)):
            return f"{shown} {choice}"
        found = _WITH_CODE.fullmatch(text)
        if found is None:
            return None
        if self.find(found[2]) is None and await self.choices_elsewhere(found[2]) is None:
            return None
        word, code, typed = found[1], found[2].upper(), found[3]
        if word is not None:
            typed = "deny" if word.casefold() == "deny" else typed or "once"
        choice = await self._meant(code, typed or "")
        return None if choice is None else f"/answer {code} {choice}"

    async def _shown_elsewhere(self, chat: Chat, message: str, inbound: Inbound) -> str | None:
        """The command of a message that another process sent.

        That process stores the command after sending, so a quick press waits while something is
        being sent to the chat.
        """
        text, kv = inbound.text, self._host.storage.kv
        may_wait = inbound.kind == "press" and (
            parse_choice(text, CHOICES) or parse_pairing_choice(text)
        )
        while True:
            # In this order: the sending process stores the command before it removes its mark.
            wait = may_wait and await self._is_showing(chat)
            if kept := await kv.get(_shown_key(chat, message)):
                return str(kept["command"])
            if not wait:
                return None
            await asyncio.sleep(POLL_INTERVAL)

    async def _is_showing(self, chat: Chat) -> bool:
        kv, since = self._host.storage.kv, self._host.now() - SHOWING_TIMEOUT
        begun = [await kv.get(key) for key in await kv.keys(_showing_key(chat))]
        return any(sending and sending["at"] > since for sending in begun)

    async def _meant(self, code: str, typed: str) -> str | None:
        waiting = self.find(code)
        choices = waiting.choices if waiting is not None else await self.choices_elsewhere(code)
        return parse_choice(typed, choices or CHOICES)

    async def prune(self) -> None:
        """Forget old messages."""
        kv = self._host.storage.kv
        for key in [*await kv.keys(SHOWN_PREFIX), *await kv.keys(SHOWING_PREFIX)]:
            kept = await kv.get(key)
            if not kept or kept["at"] < self._host.now() - SHOWN_SECONDS:
                await kv.delete(key)


def _shown_key(chat: Chat, message: str) -> str:
    return SHOWN_PREFIX + json.dumps([*chat, message])


def _showing_key(chat: Chat) -> str:
    return SHOWING_PREFIX + json.dumps(chat)
