"""The PostgreSQL store, with connections for writing, reading, the heartbeat and listening.

Reached by config ``store: postgresql://…`` through the entry point group ``hookline.stores``.
Writes with one key go through one connection, in the order of the calls. Every transaction is
SERIALIZABLE and is repeated after a conflict, so a function passed to `write` may run more than
once.
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

from . import connection_threads, dialect, fulltext, migrations
from .address import parse_address
from .dump import dump_database
from .nodes import Node, living_processes
from .topics import MAX_PAYLOAD_BYTES, TopicListener, channel

T = TypeVar("T")

WRITER_COUNT = 4
READER_COUNT = 2
OPEN_TIMEOUT = 3.0
"""Seconds for which an unreachable server is retried when the store is opened."""
POLL_SECONDS = 0.1


def _thread_number(key: str, count: int) -> int:
    return crc32(key.encode("utf-8", "replace")) % count


class PostgresStore:
    """The store at a URL of PostgreSQL 14 or newer; implements the protocol ``Store``."""

    dialect = "postgres"
    is_shared = True
    """Processes on other machines, with other files, may use the store."""

    def __init__(self, url: str, home: Path) -> None:
        """``url`` is one for libpq, ``postgresql://USER:PASSWORD@HOST:PORT/DATABASE``, and may have
        the parameter ``schema`` (see `address`)."""
        self._where = parse_address(url, home)
        self.conninfo = self._where.conninfo
        """libpq's connection string, with the password: never show it."""
        self._open = False

    async def open(self) -> None:
        """Connect, and create missing tables. Raises ``StoreError``."""
        if self._open:
            return
        self._node = Node(self._where)
        self._listener = TopicListener(self._where, self._node.id)
        self._owner_pool = ThreadPoolExecutor(1, "hookline-owner")
        self._writers = [
            connection_threads.WriterThread(self._where, self._node, n) for n in range(WRITER_COUNT)
        ]
        self._readers = [
            connection_threads.ConnectionThread(self._where, f"hookline-reader-{n}")
            for n in range(READER_COUNT)
        ]
        try:
            set_up = partial(migrations.set_up, schema=self._where.schema)
            await self._writers[0].run(set_up, OPEN_TIMEOUT)
            await asyncio.to_thread(self._node.join, WRITER_COUNT)
        except BaseException:
            await self._disconnect()
            raise
        self._open = True
        # Early, so that it listens when it is needed.
        self._listener.count_changes(self._node.channel_key)

    async def close(self) -> None:
        """Finish pending writes and disconnect."""
        if self._open:
            self._open = False
            while pending := self._pending_writes(""):
                await asyncio.wait(pending)
            await self._disconnect()

    async def _disconnect(self) -> None:
        await asyncio.to_thread(self._listener.close)
        await asyncio.to_thread(self._owner_pool.shutdown)
        await asyncio.to_thread(self._node.leave)
        for lane in (*self._writers, *self._readers):
            await asyncio.to_thread(lane.close)

    async def users(self) -> list[str]:
        """The names of the processes that have the database open. Works on a closed store."""
        return await asyncio.to_thread(living_processes, self._where)

    async def read(self, work: Callable[[Connection], T], *, key: str = "") -> T:
        """Run a reading function; it sees all earlier writes, or all earlier writes of ``key``."""
        self._expect_open()
        if earlier := self._pending_writes(key):
            await asyncio.wait(earlier)
        number = _thread_number(key, READER_COUNT) if key else random.randrange(READER_COUNT)
        return await self._readers[number].run(partial(connection_threads.read, work=work))

    def _pending_writes(self, key: str) -> list[asyncio.Future[object]]:
        """The futures of pending writes, only of ``key`` if it is not empty."""
        writers = [self._writers[_thread_number(key, WRITER_COUNT)]] if key else self._writers
        found: list[asyncio.Future[object]] = []
        for writer in writers:
            if waiting := writer.waiting(key or None):
                writer.begin()
                found += waiting
        return found

    def write(
        self, work: Callable[[Connection], T], *, key: str = "", durable: bool = False
    ) -> asyncio.Future[T]:
        """Queue a writing function; see the protocol. Cancelling the future does not undo it."""
        self._expect_open()
        return self._writers[_thread_number(key, WRITER_COUNT)].add(work, key, durable)

    async def migrate(self, component: str, steps: Sequence[Migration]) -> None:
        """Bring a component's tables up to date; see the protocol.

        No backup is needed: a failed migration is rolled back completely, including tables.
        """
        if await self.read(lambda connection: due(connection, component, steps)):
            await self._writers[0].run(lambda c: migrations.migrate(c, component, steps))

    async def snapshot(self, path: Path) -> None:
        """Write a dump for ``pg_restore`` to the new file ``path``; needs ``pg_dump``."""
        await self.read(lambda connection: None)  # waits until pending writes are committed
        await asyncio.to_thread(dump_database, self._where, path)

    @asynccontextmanager
    async def own(
        self,
        key: str,
        timeout: float,  # noqa: ASYNC109 - the protocol's
        what: str = "",
    ) -> AsyncIterator[Ownership]:
        """Own ``key`` among all processes until the context ends."""
        self._expect_open()
        deadline = time.monotonic() + timeout
        while (epoch := await self._take(key)) is None:
            holder = await asyncio.to_thread(self._node.holder, key)
            if time.monotonic() >= deadline:
                if (epoch := await self._take(key)) is not None:  # its owner was dead
                    break
                raise StoreError(f"{what or key} is in use by {holder}.")
            await asyncio.sleep(POLL_SECONDS)
        try:
            yield Ownership(key, epoch)
        finally:
            # Not awaited: later calls of this process run after it.
            self._owner_pool.submit(self._node.give_back, key, epoch)

    async def _take(self, key: str) -> int | None:
        """Own ``key``; if cancelled, release it again."""
        loop = asyncio.get_running_loop()
        taking = loop.run_in_executor(self._owner_pool, self._node.take, key)
        try:
            return await asyncio.shield(taking)
        except asyncio.CancelledError:
            epoch = await taking
            if epoch is not None:
                self._owner_pool.submit(self._node.give_back, key, epoch)
            raise

    async def notify(self, topic: str, payload: str) -> None:
        """Notify all processes that share the database and listen."""
        if len(payload.encode("utf-8", "replace")) > MAX_PAYLOAD_BYTES:
            raise StoreError(
                f"The notification for {topic!r} is longer than {MAX_PAYLOAD_BYTES:,} bytes."
            )
        self._expect_open()
        await self._node.notices.send(channel(self._node.channel_key, topic), payload)

    def listen(self, topic: str) -> AbstractAsyncContextManager[AsyncIterator[str]]:
        """The notifications of ``topic`` from now on, by any process."""
        self._expect_open()
        return self._listener.listen(topic)

    @property
    def changes(self) -> int | None:
        """A number that changes when another process has written; None while this is unknown.

        Reading it does not query the database. Writes to core's own tables are not announced.
        """
        return self.changes_of("")

    def changes_of(self, prefix: str) -> int | None:
        """The same for tables that begin with ``prefix``, and for the table of plugins' values."""
        self._expect_open()
        return self._listener.changes(prefix)

    def search_statements(self, table: str) -> Mapping[str, str]:
        """``create put delete query`` for a full-text ``table``."""
        return fulltext.statements(table)

    def search_text(self, text: str) -> str:
        """``text`` as it is indexed."""
        return segmented(text)

    def search_query(self, text: str) -> str:
        """A query for all words of ``text``; empty if there are none."""
        return fulltext.query(text)

    def statements(self, sql: str) -> Iterable[str]:
        """The single statements of ``sql``."""
        return dialect.split_statements(sql)

    def location(self) -> str:
        """The address, without its password."""
        return self._where.shown

    def _expect_open(self) -> None:
        if not self._open:
            raise StoreError(f"The store {self._where.shown} is not open.")
