"""A dict of bounded size, and a lock for each chat."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TypeVar
from weakref import WeakValueDictionary

K = TypeVar("K")
V = TypeVar("V")


class BoundedDict(OrderedDict[K, V]):
    """A dict that keeps the ``max_items`` items that were set last."""

    def __init__(self, max_items: int = 1024) -> None:
        super().__init__()
        self._max_items = max_items

    def __setitem__(self, key: K, value: V) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key)
        while len(self) > self._max_items:
            self.popitem(last=False)


class ChatLocks:
    """A lock for each chat, kept while it is used; it keeps the chat's actions in order."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def of(self, chat: str) -> asyncio.Lock:
        """Return the lock of a chat."""
        lock = self._locks.get(chat)
        if lock is None:
            lock = self._locks[chat] = asyncio.Lock()
        return lock
