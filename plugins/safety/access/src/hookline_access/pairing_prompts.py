"""Pairing requests in the private chats of admins, and the buttons that answer them.

A request is sent directly by the channel, not through the outbox, because it is valid only for some
minutes and must not be shown again after a restart.
"""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from uuid import uuid4

from hookline_hookspecs import Host, Inbound, Reply, Session, WorkDistribution, message_ids

from .chats import Chat
from .texts import LET_IN, parse_pairing_choice

MAX_SHOWN_MESSAGES = 256
"""Messages with buttons that are remembered."""
SHOWN_PREFIX = "shown:"
"""Key prefix, before the chat and message that show a request."""
SHOWING_PREFIX = "showing:"
"""Key prefix, before the chat and a message that is being sent and has no id yet."""
SHOWN_SECONDS = 2 * 86_400.0
"""Seconds after which a message that showed a request is forgotten."""
MAX_ATTEMPTS = 3
"""Attempts to send a message, one and then two seconds apart."""
POLL_INTERVAL = 0.1
"""Seconds between two looks for the command of a button while another process is sending."""
SHOWING_TIMEOUT = 30.0
"""Seconds after which a process that is sending is given up."""


class PairingPrompts:
    """The messages that show pairing requests to admins."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._shown: OrderedDict[tuple[Chat, str], str] = OrderedDict()
        """By chat and message id: the command that a choice is appended to."""

    @property
    def _is_shared(self) -> bool:
        """Whether another process may receive the answer."""
        return self._host.services[WorkDistribution].is_shared

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
        """The command ``/pair`` that a button press, or a reply to a request, stands for."""
        chat = (inbound.channel, inbound.chat_id)
        choice = parse_pairing_choice(inbound.text)
        if choice is None or not inbound.reply_to:
            return None
        shown = self._shown.get((chat, inbound.reply_to))
        if shown is None and self._is_shared:
            shown = await self._shown_elsewhere(
                chat, inbound.reply_to, is_press=inbound.kind == "press"
            )
        if shown is None:
            return None
        return shown + ("" if choice == LET_IN else " block")

    async def _shown_elsewhere(self, chat: Chat, message: str, *, is_press: bool) -> str | None:
        """The command of a message that another process sent.

        That process stores the command after sending, so a quick press waits while something is
        being sent to the chat.
        """
        kv = self._host.storage.kv
        while True:
            # In this order: the sending process stores the command before it removes its mark.
            wait = is_press and await self._is_showing(chat)
            if kept := await kv.get(_shown_key(chat, message)):
                return str(kept["command"])
            if not wait:
                return None
            await asyncio.sleep(POLL_INTERVAL)

    async def _is_showing(self, chat: Chat) -> bool:
        kv, since = self._host.storage.kv, self._host.now() - SHOWING_TIMEOUT
        begun = [await kv.get(key) for key in await kv.keys(_showing_key(chat))]
        return any(sending and sending["at"] > since for sending in begun)

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
