"""Caches rows until they are written."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from hookline_hookspecs import Host, Storage

K = TypeVar("K")
V = TypeVar("V")


def changes(storage: Storage) -> int | None:
    """Return a number that changes when another process writes the plugin's tables.

    None if the store cannot tell; then nothing may be cached.
    """
    return storage.changes


class RowCache(Generic[K, V]):
    """Caches the ``most`` recently used results of reads from the plugin's tables.

    The plugin calls :meth:`forget` before and after each of its own writes.
    """

    def __init__(self, host: Host, most: int = 512) -> None:
        self._host = host
        self._most = most
        self._written = 0
        self._kept: OrderedDict[K, V] = OrderedDict()
        self._as_of: int | None = None

    def forget(self) -> None:
        """Drop everything, because this process writes."""
        self._written += 1
        self._kept.clear()

    async def get(self, key: K, read: Callable[[], Awaitable[V]]) -> V:
        """Return the cached result of ``read``, or call it if the tables were written since."""
        now, written = changes(self._host.storage), self._written
        if now is None or now != self._as_of:
            self._kept.clear()
            self._as_of = now
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        value = await read()
        if now is not None and (now, written) == (self._as_of, self._written):
            self._kept[key] = value
            if len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return value
