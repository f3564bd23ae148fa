"""The PostgreSQL store: connections that write, that read, one that beats and one that listens.

Reached by config ``store: postgresql://…`` through the entry point group ``hookline.stores``.
Writes with one key go through one connection, in the order of the calls. Every transaction is
SERIALIZABLE and is run again if it met another one, so a function that is given to `write` may run
more than once.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar
from zlib import crc32

from hookline_hookspecs.drivers import Connection, Migration, Ownership
from hookline_hookspecs.errors import StoreError
from hookline_hookspecs.stores import due, segmented

from . import copying, dialect, fulltext, lanes, migrating
from .address import address
from .nodes import Node, living
from .topics import LIMIT, Listener, channel

T = TypeVar("T")

WRITERS = 4
READERS = 2
OPEN_PATIENCE = 3.0
"""Seconds for which a server that cannot be reached is tried again when the store is opened."""
POLL_SECONDS = 0.1


def _number(key: str, count: int) -> int:
    return crc32(key.encode("utf-8", "replace")) % count


class PostgresStore:
    """The store at a URL of PostgreSQL 14 or newer; implements the protocol ``Store``."""

    dialect = "postgres"
    is_shared = True
    """Processes on other machines may use it, which have files of their own."""

    def __init__(self, url: str, home: Path) -> None:
        """``url`` as libpq takes it, ``postgresql://USER:PASSWORD@HOST:PORT/DATABASE``, and
        ``schema`` among its parameters (see `address`)."""
        self._where = address(url, home)
        self.conninfo = self._where.conninfo
        """libpq's parameters, for who connects on its own; with the password, so never shown."""
        self._open = False

    async def open(self) -> None:
        """Connect; create what is not there. Raises ``StoreError``."""
        if self._open:
            return
        self._node = Node(self._where)
        self._listener = Listener(self._where, self._node.id)
        self._owning = ThreadPoolExecutor(1, "hookline-owner")
        self._writers = [lanes.Writer(self._where, self._node, n) for n in range(WRITERS)]
        self._readers = [lanes.Lane(self._where, f"hookline-reader-{n}") for n in range(READERS)]
        try:
            set_up = partial(migrating.set_up, schema=self._where.schema)
            await self._writers[0].run(set_up, OPEN_PATIENCE)
            await asyncio.to_thread(self._node.join, WRITERS)
        except BaseException:
            await self._disconnect()
            raise
        self._open = True
        self._listener.count_changes()  # so that it is heard by the time that somebody asks

    async def close(self) -> None:
        """Finish what was asked for and disconnect."""
        if self._open:
            self._open = False
            while pending := self._earlier(""):
                await asyncio.wait(pending)
            await self._disconnect()

    async def _disconnect(self) -> None:
        await asyncio.to_thread(self._listener.close)
        await asyncio.to_thread(self._owning.shutdown)
        await asyncio.to_thread(self._node.leave)
        for lane in (*self._writers, *self._readers):
            await asyncio.to_thread(lane.close)

    async def users(self) -> list[str]:
        """Processes that have the database open, for people. Asked of a store that is not."""
        return await asyncio.to_thread(living, self._where)

    async def read(self, work: Callable[[Connection], T], *, key: str = "") -> T:
        """Run a reading function; it sees all that was written before, or all of ``key``."""
        self._expect_open()
        if earlier := self._earlier(key):
            await asyncio.wait(earlier)
        number = _number(key, READERS) if key else random.randrange(READERS)
        return await self._readers[number].run(partial(lanes.read, work=work))

    def _earlier(self, key: str) -> list[asyncio.Future[object]]:
        """What has been handed over to be written, of ``key`` if there is one."""
        lanes = [self._writers[_number(key, WRITERS)]] if key else self._writers
        found: list[asyncio.Future[object]] = []
        for lane in lanes:
            if waiting := lane.waiting(key or None):
                lane.begin()
                found += waiting
        return found

    def write(
        self, work: Callable[[Connection], T], *, key: str = "", durable: bool = False
    ) -> asyncio.Future[T]:
        """Hand over a writing function; see the protocol. Cancelling the result undoes nothing."""
        self._expect_open()
        return self._writers[_number(key, WRITERS)].add(work, key, durable)

    async def migrate(self, component: str, steps: Sequence[Migration]) -> None:
        """Bring a component's tables up to date; see the protocol.

        No copy is made before: a step that fails takes back everything, tables too.
        """
        if await self.read(lambda connection: due(connection, component, steps)):
            await self._writers[0].run(lambda c: migrating.migrate(c, component, steps))

    async def snapshot(self, path: Path) -> None:
        """Write a dump that ``pg_restore`` reads to the new file ``path``; needs ``pg_dump``."""
        await self.read(lambda connection: None)  # so that what was handed over is committed
        await asyncio.to_thread(copying.dump, self._where, path)

    @asynccontextmanager
    async def own(
        self,
        key: str,
        timeout: float,  # noqa: ASYNC109 - the protocol's
        what: str = "",
    ) -> AsyncIterator[Ownership]:
        """Own ``key`` among all processes, for as long as the context lasts."""
        self._expect_open()
        deadline = time.monotonic() + timeout
        while (epoch := await self._take(key)) is None:
            holder = await asyncio.to_thread(self._node.holder, key)
            if time.monotonic() >= deadline:
                if (epoch := await self._take(key)) is not None:  # a dead one's
                    break
                raise StoreError(f"{what or key} is in use by {holder}.")
            await asyncio.sleep(POLL_SECONDS)
        try:
            yield Ownership(key, epoch)
        finally:
            # Nobody has to wait for it: what this process asks next comes after it.
            self._owning.submit(self._node.give_back, key, epoch)

    async def _take(self, key: str) -> int | None:
        """Own ``key``; who is cancelled meanwhile owns nothing."""
        loop = asyncio.get_running_loop()
        taking = loop.run_in_executor(self._owning, self._node.take, key)
        try:
            return await asyncio.shield(taking)
        except asyncio.CancelledError:
            epoch = await taking
            if epoch is not None:
                self._owning.submit(self._node.give_back, key, epoch)
            raise

    async def notify(self, topic: str, payload: str) -> None:
        """Tell all processes that share the database and listen."""
        if len(payload.encode("utf-8", "replace")) > LIMIT:
            raise StoreError(f"What is told under {topic!r} is longer than {LIMIT:,} bytes.")
        self._expect_open()
        await self._node.notices.tell(channel(self._where.schema, topic), payload)

    def listen(self, topic: str) -> AbstractAsyncContextManager[AsyncIterator[str]]:
        """What is told from now on, by any process."""
        self._expect_open()
        return self._listener.listen(topic)

    @property
    def changes(self) -> int | None:
        """A number that differs once another process has told that it wrote, which it does before
        its write counts as done; None while nothing is heard. Nothing is asked for. Of core's own
        tables nothing is told."""
        return self.changes_of("")

    def changes_of(self, prefix: str) -> int | None:
        """The same for tables whose names begin with ``prefix``, and the one of plugins' values."""
        self._expect_open()
        return self._listener.changes(prefix)

    def search_statements(self, table: str) -> Mapping[str, str]:
        """``create put delete query`` for a full-text ``table``."""
        return fulltext.statements(table)

    def search_text(self, text: str) -> str:
        """``text`` as it is indexed."""
        return segmented(text)

    def search_query(self, text: str) -> str:
        """A query for every word of ``text``; empty if there is none."""
        return fulltext.query(text)

    def statements(self, sql: str) -> Iterable[str]:
        """The single statements of ``sql``."""
        return dialect.statements(sql)

    def location(self) -> str:
        """The address, without its password."""
        return self._where.shown

    def _expect_open(self) -> None:
        if not self._open:
            raise StoreError(f"The store {self._where.shown} is not open.")
