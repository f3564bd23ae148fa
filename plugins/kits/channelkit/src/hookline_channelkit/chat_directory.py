"""Stores chats with more than one id, and the private chat of each person."""

from __future__ import annotations

from collections.abc import Mapping

from hookline_hookspecs import Host

ALIASES_KEY = "chat_aliases"
"""Key of the current id of each chat that moved, in ``host.storage.kv``."""
PRIVATE_CHATS_KEY = "private_chats"
"""Key of the private chats by person, in ``host.storage.kv``."""


class ChatAliases:
    """Chats that have a new id on the platform.

    A chat keeps its first id as its name in Hookline, because its session, notes and access are
    stored under that name.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._ids: dict[str, str] | None = None

    async def add(self, name: str, new_id: str) -> None:
        """Record that a chat has a new id."""
        ids = await self._load()
        if ids.get(name) != new_id:
            ids[name] = new_id
            await self._host.storage.kv.set(ALIASES_KEY, ids)

    async def name_of(self, chat_id: str) -> str:
        """Return the name of the chat with this id."""
        ids = await self._load()
        return next((name for name, known in ids.items() if known == chat_id), chat_id)

    async def id_of(self, name: str) -> str:
        """Return the current id of a chat."""
        return (await self._load()).get(name, name)

    async def _load(self) -> dict[str, str]:
        if self._ids is None:
            stored = await self._host.storage.kv.get(ALIASES_KEY, {})
            self._ids = {str(name): str(chat_id) for name, chat_id in stored.items()}
        return self._ids


class PrivateChats:
    """The private chat of each person, on platforms where it has its own id."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._chats: dict[str, str] | None = None

    async def all(self) -> Mapping[str, str]:
        """Return every known private chat, by person."""
        if self._chats is None:
            self._chats = dict(await self._host.storage.kv.get(PRIVATE_CHATS_KEY, {}))
        return self._chats

    async def add(self, person: str, chat: str) -> None:
        """Record the private chat of a person."""
        known = dict(await self.all())
        if known.get(person) != chat:
            self._chats = known | {person: chat}
            await self._host.storage.kv.set(PRIVATE_CHATS_KEY, self._chats)
