"""Chats in which admins have written: which are private, and where an admin can be asked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hookline_hookspecs import Host, Inbound

from .people import People, Person

Chat = tuple[str, str]
"""Channel and chat id."""
HOUR = 3600.0
LOOKED_THROUGH = 500
"""Stored messages of a chat that are looked through when an admin first writes in it."""
SHARED = ""
"""In place of the only writer, where there was more than one."""


@dataclass(frozen=True, slots=True)
class Known:
    """A chat's only writer (or :data:`SHARED`), when an admin last wrote (Unix seconds), and
    whether the channel says that it is private; None of one that says nothing."""

    writer: str
    seen: float
    private: bool | None


class Chats:
    """The table ``access_chats``, held in memory; only the process of the gateway changes it."""

    def __init__(self, host: Host, people: People) -> None:
        self._host = host
        self._people = people
        self._known: dict[Chat, Known] | None = None

    async def load(self) -> dict[Chat, Known]:
        """What is known, read at the first use."""
        if self._known is None:
            rows = await self._host.storage.fetch("chats")
            self._known = {
                (row["channel"], row["chat_id"]): Known(
                    row["user_id"],
                    row["seen"],
                    None if row["private"] is None else bool(row["private"]),
                )
                for row in rows
            }
        return self._known

    async def note(self, inbound: Inbound, *, is_kept: bool) -> None:
        """Somebody has written, whether they may or not. A chat that is not known yet becomes so
        if ``is_kept``: an admin has written, or an auditor."""
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
        new = Known(writer, seen, private)
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
        """True if core holds no message of somebody else in this chat."""
        rows = await self._host.storage.fetch(
            "inbox_of", channel=inbound.channel, chat_id=inbound.chat_id, limit=LOOKED_THROUGH
        )
        try:
            writers = {json.loads(row["body"]).get("user_id") for row in rows}
        except (ValueError, AttributeError, RecursionError):
            return False  # nobody can say who wrote what cannot be read
        return writers <= {inbound.user_id}

    def is_private(self, channel: str, chat_id: str, user_id: str) -> bool:
        """True if only this person reads the chat, as far as can be known.

        The channel says so with each message (``Inbound.private``), or else the chat's id, which
        then is the person's own. In every case nobody else may ever have written there.
        """
        known = (self._known or {}).get((channel, chat_id))
        if known is None or known.writer != user_id:
            return False
        word = self._word((channel, chat_id), known)
        return chat_id == user_id if word is None else word

    def _word(self, chat: Chat, known: Known) -> bool | None:
        """What the channel says; None of one that says nothing."""
        return known.private

    async def of_admins(self) -> Sequence[Chat]:
        """Where each admin can be asked: the private chat in which they wrote last; of an admin
        without one, the chat in which they wrote last and nobody else ever did, unless its
        channel says that it is not private; of an admin without any, the chat that a method
        ``private_chat(user_id)`` of their channel names, None if it cannot reach them there."""
        best: dict[Person, tuple[bool, float, Chat]] = {}
        for chat, known in (await self.load()).items():
            person = Person.on(chat[0], known.writer)
            if known.writer == SHARED or not self._people.is_admin(person):
                continue
            if self._word(chat, known) is False:
                continue
            rank = (self.is_private(*chat, known.writer), known.seen, chat)
            best[person] = max(best.get(person, rank), rank)
        found = [chat for _, _, chat in best.values()]
        for one in self._host.channels():
            for person in self._people.admins_of(one.name):
                if person in best:
                    continue
                chat_id = await one.private_chat(person.user_id)
                if chat_id is not None:
                    found.append((one.name, chat_id))
        return found
