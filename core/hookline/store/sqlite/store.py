"""The SQLite store: one file in the home, a writing thread and a reading thread.

The config key ``store: sqlite`` selects it from the entry point group ``hookline.stores``. Writes
that are queued at the same time share one transaction and one flush to disk (group commit). A write
that is not awaited yet is delayed by `WRITE_DELAY`, so that later ones are committed with it.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import (
    AbstractAsyncContextManager,
    ExitStack,
    asynccontextmanager,
    closing,
    suppress,
)
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

from hookline_hookspecs.drivers import Connection, Migration, Ownership
from hookline_hookspecs.errors import StoreError
from hookline_hookspecs.stores import Topics, due, segmented

from .connection import BUSY_SECONDS, Connect, SqliteConnection, make_private, prepare
from .foreign_writes import ForeignWriteCounter, database_users
from .locks import own
from .migrations import Migrator, statements

try:
    from . import byte_range_locks
except ImportError:  # a platform without fcntl: each session has a lock file instead
    byte_range_locks = None  # type: ignore[assignment]

T = TypeVar("T")
log = logging.getLogger("hookline.store")
_topics: WeakValueDictionary[str, Topics] = WeakValueDictionary()
"""Topics by database file, shared by all stores of that file in this process."""

FOREIGN_WRITES_INTERVAL = 0.25
"""Seconds between two checks for writes of other processes, while a task listens."""
MAX_BATCH_WRITES = 256
"""Maximum number of writes in a transaction, so that other processes can write too."""

WRITE_DELAY = 0.002
"""Seconds by which a write is delayed while it is not awaited. Committing it at once would need its
own transaction, and the writing thread would hold the interpreter lock while the event loop sends a
request."""


class _Outcome(asyncio.Future[T]):
    """The result of a write. Awaiting it starts the writing thread at once."""

    def __init__(self, loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
        super().__init__(loop=loop)
        self._call = call

    def __await__(self) -> Generator[Any, None, T]:
        if not self.done():
            self._call()
        return (yield from super().__await__())


class _Job(Generic[T]):
    """A function to run in a thread, and its outcome."""

    def __init__(self, work: Callable[[Connection], T], synchronous: str = "") -> None:
        self.synchronous = synchronous
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[T] = self.loop.create_future()
        self.error: BaseException | None = None
        self._work = work
        self._value: T | None = None

    def run(self, connection: Connection) -> None:
        """Run the function and keep its outcome."""
        try:
            self._value = self._work(connection)
        except StopIteration as error:  # a future cannot carry it
            self.error = RuntimeError(f"A database function ran out of items: {error!r}")
        except BaseException as error:
            self.error = error

    def resolve(self) -> None:
        """Set the future's result or error; runs in the event loop that created the job."""
        if self.future.done():
            if self.error:
                log.warning("A database function failed after its caller left: %s", self.error)
        elif self.error:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self._value)  # type: ignore[arg-type]


def _settle(jobs: Iterable[_Job[Any]]) -> None:
    """Resolve the jobs in their event loops; a loop is woken once for several jobs."""
    for loop, group in groupby(jobs, key=lambda job: job.loop):
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(_resolve, tuple(group))


def _resolve(jobs: Iterable[_Job[Any]]) -> None:
    for job in jobs:
        job.resolve()


def _identity(path: str) -> tuple[int, int] | None:
    """The device and inode of the file at ``path``; None if it does not exist."""
    try:
        found = os.stat(path)  # noqa: PTH116 - a Path would take longer than the call
    except OSError:
        return None
    return found.st_dev, found.st_ino


class SqliteStore:
    """The store in ``home/hookline.db``; implements the protocol ``Store``."""

    dialect = "sqlite"

    def __init__(self, url: str, home: Path, connect: Connect = sqlite3.connect) -> None:
        """Create the store without opening it.

        ``url`` is ``sqlite`` as in config, or ``sqlite://`` and the path of another file.
        ``connect`` creates connections. Lock files are created next to the database.
        """
        self._path = Path(url.partition("://")[2] or home / "hookline.db")
        self._name = str(self._path)
        # Resolved, so that the same file has the same locks under every name.
        self._locks = self._path.resolve().parent / "locks"
        self._connect = connect
        self._migrator = Migrator(home, version("hookline"))
        self._waiting: list[_Job[Any]] = []  # jobs that are not committed yet
        self._calling: tuple[asyncio.AbstractEventLoop, asyncio.TimerHandle] | None = None
        self._is_called = False  # the writing thread was called but has not started yet
        self._synchronous = ""  # the last setting of the writing connection
        self._open = False
        self._file: tuple[int, int] | None = None  # identity of the opened file
        self._gone = False
        self._loop_count: tuple[asyncio.AbstractEventLoop, int] | None = None  # in this iteration
        self._lock_file: byte_range_locks.LockFile | None = None
        self._topics = _topics.setdefault(self._name, Topics())

    async def open(self) -> None:
        """Connect; create the file if it does not exist. Raises ``StoreError``."""
        if not self._open:
            await asyncio.to_thread(make_private, self._path)
            # SQLite itself does not wait while another process sets up a new file.
            lock = self._locks / "open.lock"
            async with own(lock, "open", f"The database {self._path}", BUSY_SECONDS):
                await asyncio.to_thread(self._start)
            if byte_range_locks is not None:
                self._lock_file = byte_range_locks.open_file(self._locks / "sessions.lock")
            self._open = True

    def _start(self) -> None:
        with ExitStack() as stack:
            self._writer = stack.enter_context(closing(SqliteConnection(self._path, self._connect)))
            prepare(self._writer)
            self._file = _identity(self._name)
            self._synchronous = ""
            self._reader = stack.enter_context(closing(SqliteConnection(self._path, self._connect)))
            self._reader.execute("PRAGMA query_only = ON")
            counter = ForeignWriteCounter(self._path, self._writer, self._connect)
            self._foreign_writes = stack.enter_context(closing(counter))
            # The writing thread passes reads to the reading one, so it must end first.
            self._reads = stack.enter_context(ThreadPoolExecutor(1, "hookline-reader"))
            self._writes = stack.enter_context(ThreadPoolExecutor(1, "hookline-writer"))
            self._started = stack.pop_all()

    async def close(self) -> None:
        """Finish all submitted reads and writes, and disconnect."""
        if self._open:
            self._open = False
            self._call_writer()
            if self._lock_file is not None:
                self._lock_file.close()
            await asyncio.to_thread(self._started.close)

    async def users(self) -> list[str]:
        """Describe other processes that have the file open. This store must not be open."""
        return await asyncio.to_thread(database_users, self._path)

    async def read(self, work: Callable[[Connection], T], *, key: str = "") -> T:
        """Run a reading function. It sees all earlier writes, whatever the key."""
        self._expect_open()
        job = _Job(work)
        if self._waiting:
            self._call_writer()
            self._writes.submit(self._reads.submit, self._read, job)
        else:
            self._reads.submit(self._read, job)
        return await job.future

    def write(
        self, work: Callable[[Connection], T], *, key: str = "", durable: bool = False
    ) -> asyncio.Future[T]:
        """Submit a writing function; see the protocol. Cancelling the result undoes nothing.

        All writes are in one order, so the key has no effect.
        """
        self._expect_open()
        job = _Job(work, "FULL" if durable else "NORMAL")
        job.future = _Outcome(job.loop, self._call_writer)
        self._waiting.append(job)
        if self._calling is None or self._calling[0] is not job.loop:
            self._calling = (job.loop, job.loop.call_later(WRITE_DELAY, self._call_writer))
        return job.future

    def _call_writer(self) -> None:
        """Make the writing thread run the waiting writes, unless it was already called."""
        if self._calling is not None:
            self._calling[1].cancel()
            self._calling = None
            if not self._is_called:  # it takes all writes that are waiting when it starts
                self._is_called = True
                self._writes.submit(self._write_waiting)

    async def migrate(self, component: str, steps: Sequence[Migration]) -> None:
        """Migrate a component's tables; see the protocol."""
        if await self.read(lambda connection: due(connection, component, steps)):
            self._call_writer()
            run = self._writes.submit(self._migrator.run, self._writer, component, steps)
            await asyncio.wrap_future(run)

    async def snapshot(self, path: Path) -> None:
        """Copy the database to a new file; see the protocol."""
        from .snapshots import write_snapshot

        await self.read(lambda connection: None)  # so that submitted writes are committed
        await write_snapshot(self._path, path, self._connect)

    is_shared = False
    conninfo = None

    def changes_of(self, prefix: str) -> int:
        """A number that changes when another process writes; see :attr:`changes`."""
        return self.changes

    @property
    def changes(self) -> int:
        """A number that changes when another process writes. Reading it needs no thread.

        It is read at most once per iteration of an event loop, however many turns are running.
        """
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return self._foreign_writes.count
        if self._loop_count is None or self._loop_count[0] is not loop:
            # Valid for this iteration: results of threads only arrive in a later one.
            self._loop_count = loop, self._foreign_writes.count
            loop.call_soon(self._clear_loop_count)
        return self._loop_count[1]

    def _clear_loop_count(self) -> None:
        self._loop_count = None

    def own(
        self, key: str, timeout: float, what: str = ""
    ) -> AbstractAsyncContextManager[Ownership]:
        """Own ``key`` exclusively among all processes while the context lasts."""
        if self._lock_file is not None:
            return self._lock_file.own(key, what or key, timeout)
        name = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
        return own(self._locks / f"{name}.lock", key, what or key, timeout)

    async def notify(self, topic: str, payload: str) -> None:
        """Send to the listeners in this process."""
        self._topics.publish(topic, payload)

    @asynccontextmanager
    async def listen(self, topic: str) -> AsyncIterator[AsyncIterator[str]]:
        """Iterate over the payloads sent in this process from now on.

        Other processes cannot send any. After each of their writes, an empty payload says that some
        may be missing.
        """
        with self._topics.listen(topic) as payloads:
            watching = asyncio.create_task(self._publish_foreign_writes(topic))
            try:
                yield payloads
            finally:
                watching.cancel()

    async def _publish_foreign_writes(self, topic: str) -> None:
        count = self._foreign_writes.count
        while self._open:
            await asyncio.sleep(FOREIGN_WRITES_INTERVAL)
            if (now := self._foreign_writes.count) != count:
                count = now
                self._topics.publish(topic, "")

    def search_statements(self, table: str) -> Mapping[str, str]:
        """The statements ``create put delete query`` for a full-text ``table``."""
        from . import fulltext

        return fulltext.statements(table)

    def search_text(self, text: str) -> str:
        """``text`` as it is indexed."""
        return segmented(text)

    def search_query(self, text: str) -> str:
        """A query for all words of ``text``; empty if it has no words."""
        from . import fulltext

        return fulltext.query(text)

    def statements(self, sql: str) -> Iterable[str]:
        """Split ``sql`` into statements; a trigger's body stays whole."""
        return statements(sql)

    def location(self) -> Path:
        """The database file."""
        return self._path

    def _expect_open(self) -> None:
        if not self._open:
            raise StoreError(f"The store {self._path} is not open.")

    def _read(self, job: _Job[Any]) -> None:
        try:
            self._reader.execute("BEGIN")  # so that the function reads one consistent state
            job.run(self._reader)
        except StoreError as error:
            job.error = error
        self._reader.rollback()
        _settle([job])

    def _write_waiting(self) -> None:
        """Run the waiting jobs in batches."""
        self._is_called = False  # first, so that later jobs call the thread again
        for _ in range(0, len(self._waiting), MAX_BATCH_WRITES):
            self._write_batch(self._waiting[:MAX_BATCH_WRITES])

    def _write_batch(self, jobs: Sequence[_Job[Any]]) -> None:
        try:
            self._commit(jobs)
        except StoreError as error:
            self._writer.rollback()
            for job in jobs:
                job.error = job.error or StoreError(str(error))
        self._foreign_writes.transaction_ended()
        del self._waiting[: len(jobs)]
        _settle(jobs)

    def _commit(self, jobs: Sequence[_Job[Any]]) -> None:
        """Run ``jobs`` in one transaction. If one fails, only its own changes are rolled back."""
        execute = self._writer.execute
        self._writer.rollback()  # in case the rollback of an earlier batch failed
        synchronous = min(job.synchronous for job in jobs)  # FULL < NORMAL
        if synchronous != self._synchronous:
            execute(f"PRAGMA synchronous = {synchronous}")
            self._synchronous = synchronous
        self._expect_file()
        execute("BEGIN IMMEDIATE")
        self._foreign_writes.transaction_began()
        for job in jobs:
            execute("SAVEPOINT work")
            job.run(self._writer)
            if not self._writer.raw.in_transaction:  # a full disk ends the whole transaction
                raise StoreError(
                    f"A transaction of {self._path} ended early and was not saved ({job.error})."
                )
            if job.error:
                execute("ROLLBACK TO work")
            execute("RELEASE work")
        self._expect_file()
        execute("COMMIT")

    def _expect_file(self) -> None:
        """Raise ``StoreError`` if the file at the path is no longer the one that was opened.

        SQLite would continue to write to the deleted file, and all of that would be lost.
        """
        if _identity(self._name) == self._file:
            self._gone = False
            return
        problem = (
            f"The database {self._path} was removed or replaced while it was in use; nothing more "
            "can be saved. Restore the folder, or restart Hookline."
        )
        if not self._gone:
            log.error("%s", problem)
        self._gone = True
        raise StoreError(problem)
