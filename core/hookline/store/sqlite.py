"""The SQLite store: one file under home, a thread that writes and a thread that reads.

Reached by config ``store: sqlite`` through the entry point group ``hookline.stores``. Writes that
wait at the same moment share one transaction and so one flush to disk (group commit).
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, closing, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

from hookline_hookspecs.drivers import Connection, Migration
from hookline_hookspecs.errors import StoreError

from .. import __version__
from . import fulltext
from .connection import Connect, SqliteConnection, make_private, prepare, store_error
from .locks import own
from .migrations import Migrator

T = TypeVar("T")
log = logging.getLogger("hookline.store")

BATCH_LIMIT = 256
"""Most writes in one transaction, so that other processes get their turn."""


class _Job(Generic[T]):
    """A function on its way to a thread, and its outcome on the way back."""

    def __init__(self, work: Callable[[Any], T]) -> None:
        self.work = work
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[T] = self.loop.create_future()
        self.value: T | None = None
        self.error: BaseException | None = None

    def run(self, connection: object) -> None:
        try:
            self.value = self.work(connection)
        except StopIteration as error:  # a future cannot carry it
            self.error = RuntimeError(f"A database function ran out of items: {error!r}")
        except BaseException as error:
            self.error = error

    def resolve(self) -> None:
        if self.future.done():
            if self.error:
                log.warning("A database function that nobody waited for failed: %s", self.error)
        elif self.error:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.value)  # type: ignore[arg-type]


class _Read(_Job[T]):
    """Runs on the reading thread."""


class _Write(_Job[T]):
    """Runs on the writing thread, in a transaction it may share."""

    def __init__(self, work: Callable[[Connection], T], synchronous: str) -> None:
        super().__init__(work)
        self.synchronous = synchronous


class _Alone(_Job[T]):
    """Runs on the writing thread and manages its own transactions."""


def _resolve(jobs: Sequence[_Job[Any]]) -> None:
    for job in jobs:
        job.resolve()


def _settle(jobs: Sequence[_Job[Any]]) -> None:
    """Hand outcomes back, one call for each event loop."""
    loops: dict[asyncio.AbstractEventLoop, list[_Job[Any]]] = {}
    for job in jobs:
        loops.setdefault(job.loop, []).append(job)
    for loop, group in loops.items():
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(_resolve, group)


class _Thread(ABC):
    """A thread with a connection of its own; ``None`` in the queue ends it."""

    def __init__(self, path: Path, connect: Connect) -> None:
        self.queue: SimpleQueue[_Job[Any] | None] = SimpleQueue()
        self._path = path
        self._connect = connect
        self._thread: threading.Thread | None = None
        self.connection: SqliteConnection

    async def start(self) -> None:
        opened: Future[None] = Future()
        name = f"hookline-{type(self).__name__.strip('_').lower()}"
        self._thread = threading.Thread(target=self._main, args=(opened,), name=name, daemon=True)
        self._thread.start()
        await asyncio.wrap_future(opened)

    async def stop(self) -> None:
        self.queue.put(None)
        if self._thread:
            await asyncio.to_thread(self._thread.join)

    def _main(self, opened: Future[None]) -> None:
        try:
            with closing(SqliteConnection(self._path, self._connect)) as self.connection:
                self._prepare()
                opened.set_result(None)
                while self._step():
                    pass
        except BaseException as error:
            if opened.done():
                raise
            opened.set_exception(error)

    @abstractmethod
    def _prepare(self) -> None: ...

    @abstractmethod
    def _step(self) -> bool: ...


class _Reader(_Thread):
    def _prepare(self) -> None:
        self.connection.execute("PRAGMA query_only = ON")

    def _step(self) -> bool:
        job = self.queue.get()
        if job is None:
            return False
        try:
            self.connection.execute("BEGIN")  # one snapshot for all that the function reads
            job.run(self.connection)
        except StoreError as error:
            job.error = error
        self.connection.rollback()
        _settle([job])
        return True


class _Writer(_Thread):
    def __init__(self, path: Path, connect: Connect, reader: _Reader) -> None:
        super().__init__(path, connect)
        self._reader = reader
        self.pending: set[_Job[Any]] = set()

    def _prepare(self) -> None:
        self._synchronous = ""  # not known of a new connection
        prepare(self.connection)

    def submit(self, job: _Job[Any]) -> None:
        self.pending.add(job)
        self.queue.put(job)

    def _step(self) -> bool:
        batch = self._batch()
        last = batch[-1]
        writes = [job for job in batch if isinstance(job, _Write)]
        if writes:
            self._commit(writes)
        if isinstance(last, _Alone):
            last.run(self.connection)
            self.connection.rollback()
        done: list[_Job[Any]] = [job for job in batch if isinstance(job, _Write | _Alone)]
        self.pending.difference_update(done)
        for job in batch:
            if isinstance(job, _Read):
                self._reader.queue.put(job)
        _settle(done)
        return last is not None

    def _batch(self) -> list[_Job[Any] | None]:
        """What waits now, up to and including the first job that cannot share a transaction."""
        batch = [self.queue.get()]
        while len(batch) < BATCH_LIMIT and isinstance(batch[-1], _Write | _Read):
            try:
                batch.append(self.queue.get_nowait())
            except Empty:
                break
        return batch

    def _commit(self, writes: Sequence[_Write[Any]]) -> None:
        try:
            self._begin(writes)
            if len(writes) == 1:
                writes[0].run(self.connection)
            else:
                for job in writes:
                    self._run_in_savepoint(job)
            self._expect_transaction(writes)
            failed = all(job.error for job in writes)
            self.connection.raw.execute("ROLLBACK" if failed else "COMMIT")
        except (sqlite3.Error, StoreError) as error:
            self.connection.rollback()
            if isinstance(error, sqlite3.Error):
                error = store_error(self._path, error)
            for job in writes:
                job.error = job.error or StoreError(str(error))

    def _begin(self, writes: Sequence[_Write[Any]]) -> None:
        self.connection.rollback()  # of a batch whose own rollback failed
        level = "FULL" if any(job.synchronous == "FULL" for job in writes) else "NORMAL"
        if level != self._synchronous:
            self.connection.raw.execute(f"PRAGMA synchronous = {level}")
            self._synchronous = level
        self.connection.raw.execute("BEGIN IMMEDIATE")

    def _run_in_savepoint(self, job: _Write[Any]) -> None:
        self.connection.raw.execute("SAVEPOINT work")
        job.run(self.connection)
        self._expect_transaction([job])
        if job.error:
            self.connection.raw.execute("ROLLBACK TO work")
        self.connection.raw.execute("RELEASE work")

    def _expect_transaction(self, writes: Sequence[_Write[Any]]) -> None:
        """A full disk can end a transaction, and with it what the jobs before have written."""
        if not self.connection.raw.in_transaction:
            raise StoreError(
                f"A transaction of {self._path} ended early, so nothing of it was saved"
                + "".join(f" ({job.error})" for job in writes if job.error)
            )


class SqliteStore:
    """The store in ``home/hookline.db``; implements the protocol ``Store``."""

    dialect = "sqlite"

    def __init__(self, url: str, home: Path, connect: Connect = sqlite3.connect) -> None:
        """``url`` is what config says (``sqlite``); ``connect`` makes connections."""
        self._path = home / "hookline.db"
        self._locks = home / "locks"
        self._reader = _Reader(self._path, connect)
        self._writer = _Writer(self._path, connect, self._reader)
        self._migrator = Migrator(home, __version__)
        self._open = False

    async def open(self) -> None:
        """Connect; create what is not there. Raises ``StoreError``."""
        if self._open:
            return
        await asyncio.to_thread(make_private, self._path)
        await self._writer.start()
        try:
            await self._reader.start()
        except BaseException:
            await self._writer.stop()
            raise
        self._open = True

    async def close(self) -> None:
        """Finish what was asked for and disconnect."""
        if self._open:
            self._open = False
            await self._writer.stop()
            await self._reader.stop()

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run a reading function; it sees all that was written before."""
        self._expect_open()
        job = _Read(work)
        # While a write is on its way, the writer passes the job on when it has committed.
        (self._writer if self._writer.pending else self._reader).queue.put(job)
        return await job.future

    def write(self, work: Callable[[Connection], T], *, durable: bool = False) -> asyncio.Future[T]:
        """Hand over a writing function; see the protocol. Cancelling the result undoes nothing."""
        self._expect_open()
        job = _Write(work, "FULL" if durable else "NORMAL")
        self._writer.submit(job)
        return job.future

    async def migrate(self, component: str, steps: Sequence[Migration]) -> None:
        """Bring a component's tables up to date; see the protocol."""
        if await self.read(lambda connection: self._migrator.due(connection, component, steps)):
            job = _Alone(lambda connection: self._migrator.run(connection, component, steps))
            self._writer.submit(job)
            await job.future

    def session_lock(self, session_id: str, timeout: float) -> AbstractAsyncContextManager[None]:
        """Own a session among all processes, for as long as the context lasts."""
        return own(self._locks, session_id, timeout)

    search_statements = staticmethod(fulltext.statements)
    search_text = staticmethod(fulltext.stored)
    search_query = staticmethod(fulltext.query)

    def location(self) -> Path:
        """The database file."""
        return self._path

    def _expect_open(self) -> None:
        if not self._open:
            raise StoreError(f"The store {self._path} is not open.")
