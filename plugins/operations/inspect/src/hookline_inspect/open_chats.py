"""Records which chats are open in which process; a lock tells whether that process is alive."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any

from hookline_hookspecs import Host, Store, StoreError
from hookline_hookspecs.open_chats import OpenChat

PREFIX = "open-chats:"
"""Of the keys under which the processes' chats are stored."""


class OpenChatRecords:
    """The chats of this process, and those of the others (``OpenChats``)."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._process = f"{os.getpid()}-{secrets.token_hex(4)}"
        self._chats: dict[str, dict[str, Any]] = {}
        self._held = AsyncExitStack()
        self._holds = False

    async def open(self, chat: OpenChat, name: str) -> None:
        """List a chat of this process; the first one also acquires the process's lock."""
        if not self._holds:
            self._holds = True
            await self._remove_dead()
            store = self._host.services[Store]
            await self._held.enter_async_context(store.own(_lock(self._process), 0.0))
        self._chats[name] = {
            "session_id": chat.session_id,
            "channel": chat.channel,
            "folder": chat.folder,
            "pid": os.getpid(),
            "opened": self._host.now(),
        }
        await self._store()

    async def close(self, name: str) -> None:
        """List a chat no longer."""
        if self._chats.pop(name, None) is not None:
            await self._store()

    async def close_all(self) -> None:
        """Forget this process's chats and release its lock."""
        if self._chats:
            self._chats.clear()
            await self._store()
        await self._held.aclose()

    async def _store(self) -> None:
        key, kv = f"{PREFIX}{self._process}", self._host.storage.kv
        if self._chats:
            await kv.set(key, list(self._chats.values()))
        else:
            await kv.delete(key)

    async def _remove_dead(self) -> None:
        for key in await self._host.storage.kv.keys(PREFIX):
            if not await is_held(self._host, _lock(key.removeprefix(PREFIX))):
                await self._host.storage.kv.delete(key)


async def open_chats(host: Host) -> list[Mapping[str, Any]]:
    """Return the chats that living processes have open, with ``session_id channel folder pid
    opened``."""
    found: list[Mapping[str, Any]] = []
    for key in await host.storage.kv.keys(PREFIX):
        if await is_held(host, _lock(key.removeprefix(PREFIX))):
            found += await host.storage.kv.get(key, [])
    return found


async def is_held(host: Host, lock: str) -> bool:
    """Return whether a living process holds the lock."""
    try:
        async with host.services[Store].own(lock, -1.0):
            return False
    except StoreError:
        return True


def _lock(process: str) -> str:
    return f"{PREFIX}{process}"
