"""Chats by name: ``CHAT`` or ``CHAT:TOPIC``; a group that becomes a supergroup keeps its name."""

from __future__ import annotations

from hookline_hookspecs import Host

_KEY = "moved"


class Moves:
    """Groups that have become supergroups, in the store: old id to new. Session, notes and access
    of a chat hang on its name, so the name stays the first id for ever."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._moved: dict[int, int] | None = None

    async def _load(self) -> dict[int, int]:
        if self._moved is None:
            stored: dict[str, int] = await self._host.storage.kv.get(_KEY, {})
            self._moved = {int(old): new for old, new in stored.items()}
        return self._moved

    async def note(self, old: int, new: int) -> None:
        """A group has moved."""
        moved = await self._load()
        if moved.get(old) != new:
            moved[old] = new
            await self._host.storage.kv.set(_KEY, {str(was): now for was, now in moved.items()})

    async def name_of(self, chat: int, thread: int | None) -> str:
        """The name of Telegram's chat, and topic."""
        moved = await self._load()
        first = next((old for old, new in moved.items() if new == chat), chat)
        return f"{first}:{thread}" if thread is not None else str(first)

    async def place_of(self, name: str) -> tuple[int, int | None]:
        """Telegram's chat and topic of a name. Raises ``ValueError`` for what is none."""
        chat, _, thread = name.partition(":")
        moved = await self._load()
        return moved.get(int(chat), int(chat)), int(thread) if thread else None
