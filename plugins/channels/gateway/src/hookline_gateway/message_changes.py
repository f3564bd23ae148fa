"""Edits, deletions and reactions, which start no turn.

A message that is deleted before its turn starts gets none; an edit replaces a message that is still
waiting. Edits of older messages and reactions become notices of the chat's next turn. An edit of
the chat's last message is handled like a new message.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from typing import Any

from hookline_hookspecs import Access, ContextBlock, Deny, Host, Inbound, Origin
from hookline_hookspecs.gateway import GatewayHost

from .authors import shown_id, strip_brackets

Chat = tuple[str, str]
MAX_CHATS = 2048
"""Chats whose last message is remembered."""
MAX_NOTICES_PER_CHAT = 8
"""The newest notices of a chat, which wait for its next turn."""
MAX_TEXT_CHARS = 1000
"""Characters of an edited message that a notice contains."""
PREFIX = "changes:"
"""Key prefix before the chat in ``host.storage.kv``."""


class MessageChanges:
    """The notices of every chat, until a turn takes them."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._last: OrderedDict[Chat, str] = OrderedDict()
        self._waiting: dict[Chat, list[dict[str, str]]] | None = None

    async def note(self, inbound: Inbound) -> Deny | None:
        """Handle what is not a new message, and deny it silently; None for a message."""
        chat = (inbound.channel, inbound.chat_id)
        if inbound.kind == "delete":
            await self._withdraw(inbound)
            return Deny("")
        if inbound.kind == "reaction":
            await self._add(inbound, f"reacted with {inbound.text} to a message")
            return Deny("")
        if inbound.kind == "edit" and not await self._withdraw(inbound):
            last = self._last.get(chat)
            if last is not None and inbound.target != last:
                await self._add(inbound, f"edited an earlier message. It now says: {inbound.text}")
                return Deny("")
        if inbound.kind in ("message", "edit"):
            self._last[chat] = (
                (inbound.target or "") if inbound.kind == "edit" else inbound.message_id
            )
            self._last.move_to_end(chat)
            while len(self._last) > MAX_CHATS:
                self._last.popitem(last=False)
        return None

    async def notices(self, channel: str, chat_id: str) -> ContextBlock | None:
        """Return the notices for a chat's current turn, each once."""
        waiting, chat = await self._load(), (channel, chat_id)
        news = waiting.pop(chat, None)
        if not news:
            return None
        await self._host.storage.kv.delete(_key(chat))
        origins = tuple(dict.fromkeys(Origin("person", one["person"]) for one in news))
        return ContextBlock("notices", "\n".join(one["text"] for one in news), origins=origins)

    async def _withdraw(self, inbound: Inbound) -> bool:
        core = self._host.services[GatewayHost]
        return await core.withdraw(inbound.channel, inbound.chat_id, inbound.target or "")

    async def _add(self, inbound: Inbound, what: str) -> None:
        """Store a notice if the person may write."""
        access = self._host.services.get(Access)
        if access is not None and not await access.may_write(inbound.channel, inbound.user_id):
            return
        waiting, chat = await self._load(), (inbound.channel, inbound.chat_id)
        person = f"{inbound.channel}:{inbound.user_id}"
        text = f"{shown_id(person)} {strip_brackets(what)[:MAX_TEXT_CHARS]}"
        news = waiting.setdefault(chat, [])
        news.append({"person": person, "text": text})
        del news[:-MAX_NOTICES_PER_CHAT]
        await self._host.storage.kv.set(_key(chat), news)

    async def _load(self) -> dict[Chat, list[dict[str, str]]]:
        if self._waiting is None:
            kv, found = self._host.storage.kv, {}
            for key in await kv.keys(PREFIX):
                chat: Any = tuple(json.loads(key.removeprefix(PREFIX)))
                found[chat] = await kv.get(key)
            self._waiting = {**found, **(self._waiting or {})}
        return self._waiting


def _key(chat: Chat) -> str:
    return PREFIX + json.dumps(chat)
