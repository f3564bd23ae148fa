"""Where the private chat of each person is, where a platform names it by an id of its own."""

from __future__ import annotations

from collections.abc import Mapping

from hookline_hookspecs import Host

KEY = "people"
"""Where the chats are, by person, in the plugin's key-value storage; for good."""


class People:
    """Private chats by person."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._chats: dict[str, str] | None = None

    async def all(self) -> Mapping[str, str]:
        """Every chat that was ever heard of, by person."""
        if self._chats is None:
            self._chats = dict(await self._host.storage.kv.get(KEY, {}))
        return self._chats

    async def note(self, person: str, chat: str) -> None:
        """Remember where a person's chat is."""
        known = dict(await self.all())
        if known.get(person) != chat:
            self._chats = known | {person: chat}
            await self._host.storage.kv.set(KEY, self._chats)
