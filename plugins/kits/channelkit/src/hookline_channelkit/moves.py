"""Chats that the platform gives a new id keep their name here.

Session, notes and access of a chat hang on its name, so the name stays the first id for ever.
"""

from __future__ import annotations

from hookline_hookspecs import Host

KEY = "moved"
"""Where the new id of each old one is, in the plugin's key-value storage."""


class Moves:
    """Chats with more than one id, in the order of their moves."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._moved: dict[str, str] | None = None

    async def note(self, old: str, new: str) -> None:
        """The platform has given a chat another id."""
        moved = await self._load()
        if moved.get(old) != new:
            moved[old] = new
            await self._host.storage.kv.set(KEY, moved)

    async def name_of(self, id_: str) -> str:
        """The name of the chat with this id."""
        moved = await self._load()
        return next((old for old, new in moved.items() if new == id_), id_)

    async def id_of(self, name: str) -> str:
        """The id that a chat has now."""
        return (await self._load()).get(name, name)

    async def _load(self) -> dict[str, str]:
        if self._moved is None:
            stored = await self._host.storage.kv.get(KEY, {})
            self._moved = {str(old): str(new) for old, new in stored.items()}
        return self._moved
