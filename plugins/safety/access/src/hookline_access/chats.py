"""Chats of admins and auditors: which are private, and where to ask an admin."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hookline_hookspecs import Host, Inbound

from .people import People, Person

Chat = tuple[str, str]
"""Channel and chat id."""
HOUR = 3600.0
MAX_SEARCHED_MESSAGES = 500
"""Stored messages of a chat that are searched when an admin first writes in it."""
SHARED = ""
"""Stored in place of the only writer of a chat with several."""


@dataclass(frozen=True, slots=True)
class ChatRecord:
    """The only writer of a chat (or :data:`SHARED`), when an admin last wrote (Unix seconds), and
    whether the channel says that it is private (None = it says nothing).
    """

    writer: str
    seen: float
    private: bool | None


class AdminChats:
    """The table ``access_chats``, cached; only the gateway's process changes it."""

    def __init__(self, host: Host, people: People) -> None:
        self._host = host
        self._people = people
        self._known: dict[Chat, ChatRecord] | None = None

    async def load(self) -> dict[Chat, ChatRecord]:
        """The known chats, read on first use."""
        if self._known is None:
            rows = await self._host.storage.fetch("chats")
            self._known = {
                (row["channel"], row["chat_id"]): ChatRecord(
                    row["user_id"],
                    row["seen"],
                    None if row["private"] is None else bool(row["private"]),
                )
                for row in rows
            }
        return self._known

    async def note(self, inbound: Inbound, *, is_kept: bool) -> None:
        """Record that a person wrote, allowed or not.

        An unknown chat is added only if ``is_kept``: an admin or an auditor wrote.
        """
        known = await self.load()
        chat = (inbound.channel, inbound.chat_id)
        found, now = known.get(chat), self._host.now()
        if found is None:
            if not is_kept:
                return
            writer = inbound.user_id if await self._was_alone(inbound) else SHARED
        else:
            writer = found.writer if found.writer == inbound.user_id else SHARED
        seen = now if is_kept or found is None else found.seen
        private = inbound.private
        if private is None and found is not None:
            private = found.private
        new = ChatRecord(writer, seen, private)
        if found is not None and seen - found.seen < HOUR and new == replace(found, seen=seen):
            return
        known[chat] = new
        await self._host.storage.execute(
            "put_chat",
            channel=chat[0],
            chat_id=chat[1],
            user_id=writer,
            seen=seen,
            private=None if private is None else int(private),
        )

    async def _was_alone(self, inbound: Inbound) -> bool:
        """Whether core has stored no message of anyone else in this chat."""
        rows = await self._host.storage.fetch(
            "inbox_of",
            channel=inbound.channel,
            chat_id=inbound.chat_id,
            limit=MAX_SEARCHED_MESSAGES,
        )
        try:
            writers = {json.loads(row["body"]).get("user_id") for row in rows}
        except (ValueError, AttributeError, RecursionError):
            return False  # the writer of an unreadable message is unknown
        return writers <= {inbound.user_id}

    def writer(self, channel: str, chat_id: str) -> str:
        """The only writer of a chat; empty if it is unknown or has several."""
        known = (self._known or {}).get((channel, chat_id))
        return known.writer if known is not None else ""

    def is_private(self, channel: str, chat_id: str, user_id: str) -> bool:
        """Whether only this person reads the chat, as far as is known.

        The channel says so (``Inbound.private``), or else the id of the chat is that of the person.
        In both cases no one else may ever have written there.
        """
        known = (self._known or {}).get((channel, chat_id))
        if known is None or known.writer != user_id:
            return False
        return chat_id == user_id if known.private is None else known.private

    async def of_admins(self) -> Sequence[Chat]:
        """The chats in which admins can be asked, one for each.

        It is the private chat in which the admin wrote last. Without one, it is the chat in which
        they wrote last and no one else ever did, unless its channel says that it is not private.
        Without that, it is the chat that the channel's ``private_chat(user_id)`` returns, if any.
        """
        best: dict[Person, tuple[bool, float, Chat]] = {}
        for chat, known in (await self.load()).items():
            person = Person.on(chat[0], known.writer)
            if known.writer == SHARED or not self._people.is_admin(person):
                continue
            if known.private is False:
                continue
            rank = (self.is_private(*chat, known.writer), known.seen, chat)
            best[person] = max(best.get(person, rank), rank)
        chats = [chat for _, _, chat in best.values()]
        for channel in self._host.channels():
            for person in self._people.admins_of(channel.name):
                if person in best:
                    continue
                chat_id = await channel.private_chat(person.user_id)
                if chat_id is not None:
                    chats.append((channel.name, chat_id))
        return chats
