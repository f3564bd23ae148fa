"""What people do without writing: they edit, delete and react. No turn begins for it.

What was deleted before its turn began gets none; an edit replaces what it changes, if that still
waits. Of anything else the session hears with its next turn: an edit of an older message, a
reaction. An edit of the chat's last message is a message like any other.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from typing import Any

from hookline_hookspecs import Access, ContextBlock, Deny, Host, Inbound, Origin
from hookline_hookspecs.gateway import GatewayHost

from .authors import harmless, shown_id

Chat = tuple[str, str]
MOST = 2048
"""Chats whose last message is remembered."""
EACH = 8
"""News of one chat that wait for its next turn, the newest."""
LONGEST = 1000
"""Characters of a changed message that are told."""
PREFIX = "news:"
"""Before the chat in the plugin's key-value storage."""


class News:
    """News of every chat, until a turn hears them."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._last: OrderedDict[Chat, str] = OrderedDict()
        self._waiting: dict[Chat, list[dict[str, str]]] | None = None

    async def heard(self, inbound: Inbound) -> Deny | None:
        """Note what is no message, and refuse it without a word; None for what is one."""
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
                await self._add(inbound, f"changed an earlier message. It now says: {inbound.text}")
                return Deny("")
        if inbound.kind in ("message", "edit"):
            self._last[chat] = (
                (inbound.target or "") if inbound.kind == "edit" else inbound.message_id
            )
            self._last.move_to_end(chat)
            while len(self._last) > MOST:
                self._last.popitem(last=False)
        return None

    async def told(self, channel: str, chat_id: str) -> ContextBlock | None:
        """The news of a chat for the turn at hand; they are told once."""
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
        """Keep something, of a person who may write."""
        access = self._host.services.get(Access)
        if access is not None and not await access.may_write(inbound.channel, inbound.user_id):
            return
        waiting, chat = await self._load(), (inbound.channel, inbound.chat_id)
        person = f"{inbound.channel}:{inbound.user_id}"
        text = f"{shown_id(person)} {harmless(what)[:LONGEST]}"
        news = waiting.setdefault(chat, [])
        news.append({"person": person, "text": text})
        del news[:-EACH]
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
