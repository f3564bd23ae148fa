"""Connection pools: as many clients of an SDK as there are requests for."""

from __future__ import annotations

import asyncio
import gc
import importlib
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Generic, Protocol, TypeVar

from .lazy import lazily

POOLED = 64
"""Requests at a time through one pool: the HTTP client looks at every connection of its pool for
each request, which with a thousand of them takes longer than the request."""


class Closable(Protocol):
    """A client that holds connections, such as the SDKs' asynchronous ones."""

    async def close(self) -> None:
        """Close its connections."""


ClientT = TypeVar("ClientT", bound=Closable)


@dataclass(slots=True)
class _Pool(Generic[ClientT]):
    """A client with its connections, and how many requests it has under way."""

    client: ClientT
    active: int = 0


class Pools(Generic[ClientT]):
    """Connections to one server, for any number of requests at a time.

    Args:
        make: makes a client; called on a thread, because importing an SDK takes a second. What it
            raises is raised by :meth:`client`.
        types: a package of the SDK, such as ``openai.types``, whose modules are imported one at a
            time when they are needed; most never are.
    """

    def __init__(self, make: Callable[[], ClientT], types: str = "") -> None:
        self._make = make
        self._types = types
        self._pools: list[_Pool[ClientT]] = []
        self._making = threading.Lock()

    @asynccontextmanager
    async def client(self) -> AsyncIterator[ClientT]:
        """A client with a free connection, for one request."""
        while (pool := self._free()) is None:
            await asyncio.to_thread(self._grow, len(self._pools))
        pool.active += 1
        try:
            yield pool.client
        finally:
            pool.active -= 1

    async def aclose(self) -> None:
        """Close the connections; the next request opens new ones."""
        pools, self._pools = self._pools, []
        for pool in pools:
            await pool.client.close()

    def _free(self) -> _Pool[ClientT] | None:
        return next((pool for pool in self._pools if pool.active < POOLED), None)

    def _grow(self, known: int) -> None:
        """Add a pool, unless another request has added one since there were ``known``."""
        with self._making:
            if len(self._pools) == known:
                with _importing(), lazily(self._types):
                    self._pools.append(_Pool(self._made()))

    def _made(self) -> ClientT:
        """A client; made once more where the SDK looked into a module of ``sys.modules`` that
        another thread was still importing (the OpenAI SDK looks for httpx, which a channel's
        library brings)."""
        try:
            return self._make()
        except Exception as error:
            lacking = (one for one in (error, error.__cause__) if isinstance(one, AttributeError))
            half = next((one.obj for one in lacking if isinstance(one.obj, ModuleType)), None)
            if half is None:
                raise
            importlib.import_module(half.__name__)  # returns when it is whole
            return self._make()


@contextmanager
def _importing() -> Iterator[None]:
    """Keep the garbage collector off while an SDK is imported, and from what the import has made.

    An SDK is a hundred thousand objects that stay until the process ends. Looking for garbage among
    them, during the import and when the process ends, takes half as long as the import.
    """
    collecting, modules = gc.isenabled(), len(sys.modules)
    gc.disable()
    try:
        yield
        if len(sys.modules) > modules:
            gc.freeze()
    finally:
        if collecting:
            gc.enable()
