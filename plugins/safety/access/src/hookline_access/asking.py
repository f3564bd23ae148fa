"""Questions put to admins in their own chats, and the answers that come back as messages.

A question is shown by the channel itself, not through the outbox: it ends with the process, and
nobody is to see it again after a restart.
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
from .codes import QUESTION, new_code
from .wording import CHOICES, LET_IN, meant, meant_at_door

SHOWN = 256
"""Messages with buttons that are remembered."""
OPEN, SHOWN_KEY, SHOWING = "open:", "shown:", "showing:"
"""In the plugin's key-value storage, where processes share it: before the code of a question that
waits, before the chat and message that show one, and before the chat and the reply that is being
shown there, whose message is not known yet."""
ANSWERS = "access:answers"
"""The topic of answers to questions that another process asks."""
STALE = 2 * 86_400.0
"""Seconds after which a message that showed a question is forgotten."""
TRIES = 3
"""Attempts to show something, a second and then two apart."""
LOOK_AGAIN, NOT_SHOWN = 0.1, 30.0
"""Seconds after which it is looked again what a button that was pressed stands for while another
process shows something in the chat, and after which nobody waits for that process."""
_WITH_CODE = re.compile(r"(?:/(approve|deny)\s+)?([A-Za-z0-9]{5})(?:\s+(.{1,40}))?", re.IGNORECASE)


@dataclass(slots=True, eq=False)
class Open:
    """A question that waits for an admin."""

    code: str
    choices: Sequence[str]
    session: str = ""
    answer: asyncio.Future[str] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    def settle(self, choice: str) -> bool:
        """Answer it; False if somebody has already."""
        if self.answer.done():
            return False
        self.answer.set_result(choice)
        return True


class Desk:
    """What is open with the admins, and where it was shown."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._open: dict[str, Open] = {}
        self._shown: OrderedDict[tuple[Chat, str], str] = OrderedDict()
        """The command that a choice is put behind, by chat and the platform's id of a message."""

    @contextmanager
    def opened(self, choices: Sequence[str], session: str = "") -> Iterator[Open]:
        """A new question of a session with these choices, open while the block runs."""
        while (code := new_code(QUESTION)) in self._open:
            pass
        made = self._open[code] = Open(code, choices, session)
        try:
            yield made
        finally:
            del self._open[code]
            made.answer.cancel()

    @asynccontextmanager
    async def told_elsewhere(self, waiting: Open) -> AsyncIterator[None]:
        """While the block runs, an answer that another process is given settles the question too.

        Raises ``StoreError``.
        """
        if not self._is_shared:
            yield
            return
        kv, key = self._host.storage.kv, OPEN + waiting.code
        async with self._host.services[Store].listen(ANSWERS) as answers:
            hearing = self._host.spawn(self._hear(answers), "hear answers")
            await kv.set(key, [str(choice) for choice in waiting.choices])
            try:
                yield
            finally:
                hearing.cancel()
                await kv.delete(key)

    async def _hear(self, answers: AsyncIterator[str]) -> None:
        async for payload in answers:
            if payload:
                code, choice = json.loads(payload)
                if (waiting := self.find(code)) is not None:
                    waiting.settle(choice)

    async def choices_elsewhere(self, code: str) -> Sequence[str] | None:
        """What can be chosen of a question that another process asks; None if none does."""
        found = await self._host.storage.kv.get(OPEN + code.upper()) if self._is_shared else None
        return [str(choice) for choice in found] if found else None

    async def answer_elsewhere(self, code: str, choice: str) -> None:
        """Tell the process that asks. Raises ``StoreError``."""
        await self._host.services[Store].notify(ANSWERS, json.dumps([code.upper(), choice]))

    @property
    def _is_shared(self) -> bool:
        """Whether another process may be given the answer."""
        return self._host.services[WorkDistribution].is_shared

    def find(self, code: str) -> Open | None:
        """The open question with this code, in any letter case."""
        return self._open.get(code.upper())

    async def show(
        self, chat: Chat, text: str, choices: Sequence[str] = (), command: str = ""
    ) -> bool:
        """Write into a chat, with buttons where its channel has some; False if it did not work.

        ``command`` is what a press of a button becomes, with the choice behind it.
        """
        channel = next((one for one in self._host.channels() if one.name == chat[0]), None)
        if channel is None:
            return False
        session = Session("", *chat, None, self._host.now(), kind="none")
        reply = Reply(session, text, id=f"access-{uuid4().hex}", choices=tuple(choices))
        async with self._showing(chat, reply):
            for attempt in range(TRIES):
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
        """While the block runs, a press that another process is given waits for the note."""
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
        """Keep what buttons of these messages stand for."""
        self._shown.update({(chat, id_): command for id_ in ids})
        if self._is_shared:
            for id_ in ids:
                kept = {"command": command, "at": self._host.now()}
                await self._host.storage.kv.set(_shown_key(chat, id_), kept)
        while len(self._shown) > SHOWN:
            self._shown.popitem(last=False)

    async def command_of(self, inbound: Inbound) -> str | None:
        """The command that a message stands for, if it answers something that was shown.

        It does so as a press of a button, or a reply, whose ``reply_to`` is the message that was
        shown; or as the code of an open question with a choice.
        """
        text = inbound.text.strip()
        chat = (inbound.channel, inbound.chat_id)
        shown = self._shown.get((chat, inbound.reply_to or ""))
        if shown is None and inbound.reply_to and self._is_shared:
            shown = await self._shown_elsewhere(chat, inbound.reply_to, inbound)
        if shown is not None and shown.startswith("/pair "):
            choice = meant_at_door(text)
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
        """The command behind a message that another process has shown, which notes it after that: a
        quick press may be here before, and waits while something is being shown in the chat."""
        text, kv = inbound.text, self._host.storage.kv
        may_wait = inbound.kind == "press" and (meant(text, CHOICES) or meant_at_door(text))
        while True:
            # In this order: who shows something notes it, and only then has shown it.
            wait = may_wait and await self._is_showing(chat)
            if kept := await kv.get(_shown_key(chat, message)):
                return str(kept["command"])
            if not wait:
                return None
            await asyncio.sleep(LOOK_AGAIN)

    async def _is_showing(self, chat: Chat) -> bool:
        kv, since = self._host.storage.kv, self._host.now() - NOT_SHOWN
        begun = [await kv.get(key) for key in await kv.keys(_showing_key(chat))]
        return any(one and one["at"] > since for one in begun)

    async def _meant(self, code: str, typed: str) -> str | None:
        waiting = self.find(code)
        choices = waiting.choices if waiting is not None else await self.choices_elsewhere(code)
        return meant(typed, choices or CHOICES)

    async def prune(self) -> None:
        """Forget what was shown long ago."""
        kv = self._host.storage.kv
        for key in [*await kv.keys(SHOWN_KEY), *await kv.keys(SHOWING)]:
            kept = await kv.get(key)
            if not kept or kept["at"] < self._host.now() - STALE:
                await kv.delete(key)


def _shown_key(chat: Chat, message: str) -> str:
    return SHOWN_KEY + json.dumps([*chat, message])


def _showing_key(chat: Chat) -> str:
    return SHOWING + json.dumps(chat)
