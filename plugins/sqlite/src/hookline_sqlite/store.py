"""The SQLite store: one file under home, a thread that writes and a thread that reads.

Reached by config ``store: sqlite`` through the entry point group ``hookline.stores``. Writes that
wait at the same moment share one transaction and so one flush to disk (group commit).
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, ExitStack, closing, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any, Generic, TypeVar

from hookline_hookspecs.drivers import Connection, Migration
from hookline_hookspecs.errors import StoreError

from . import fulltext
from .connection import BUSY_SECONDS, Connect, SqliteConnection, make_private, prepare
from .locks import own
from .migrations import Migrator, due, statements

try:
    from . import ranges
except ImportError:  # no fcntl on this platform; a lock file for each session does it too
    ranges = None  # type: ignore[assignment]

T = TypeVar("T")
log = logging.getLogger("hookline.store")

BATCH_LIMIT = 256
"""Most writes in one transaction, so that other processes get their turn."""


class _Job(Generic[T]):
    """A function on its way to a thread, and its outcome on the way back."""

    def __init__(self, work: Callable[[Connection], T], synchronous: str = "") -> None:
        self.synchronous = synchronous
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[T] = self.loop.create_future()
        self.error: BaseException | None = None
        self._work = work
        self._value: T | None = None

    def run(self, connection: Connection) -> None:
        """Do the work and keep its outcome."""
        try:
            self._value = self._work(connection)
        except StopIteration as error:  # a future cannot carry it
            self.error = RuntimeError(f"A database function ran out of items: {error!r}")
        except BaseException as error:
            self.error = error

    def settle(self) -> None:
        """Hand the outcome back to the event loop that asked."""
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self.loop.call_soon_threadsafe(self._resolve)

    def _resolve(self) -> None:
        if self.future.done():
            if self.error:
                log.warning("A database function that nobody waited for failed: %s", self.error)
        elif self.error:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self._value)  # type: ignore[arg-type]


class SqliteStore:
    """The store in ``home/hookline.db``; implements the protocol ``Store``."""

    dialect = "sqlite"

    def __init__(self, url: str, home: Path, connect: Connect = sqlite3.connect) -> None:
        """``url`` is what config says (``sqlite``); ``connect`` makes connections."""
        self._path = home / "hookline.db"
        self._locks = home / "locks"
        self._connect = connect
        self._migrator = Migrator(home, version("hookline-sqlite"))
        self._waiting: list[_Job[Any]] = []  # each stays in it until it has been committed
        self._open = False
        self._lock_file: ranges.LockFile | None = None

    async def open(self) -> None:
        """Connect; create what is not there. Raises ``StoreError``."""
        if not self._open:
            await asyncio.to_thread(make_private, self._path)
            # SQLite does not wait for other processes while a new file is being set up.
            lock = self._locks / "open.lock"
            async with own(lock, f"The database {self._path}", BUSY_SECONDS):
                await asyncio.to_thread(self._start)
            if ranges is not None:
                self._lock_file = ranges.open_file(self._locks / "sessions.lock")
            self._open = True

    def _start(self) -> None:
        with ExitStack() as stack:
            self._writer = stack.enter_context(closing(SqliteConnection(self._path, self._connect)))
            prepare(self._writer)
            self._reader = stack.enter_context(closing(SqliteConnection(self._path, self._connect)))
            self._reader.execute("PRAGMA query_only = ON")
            # The writing thread hands reads to the reading one, so it has to end first.
            self._reads = stack.enter_context(ThreadPoolExecutor(1, "hookline-reader"))
            self._writes = stack.enter_context(ThreadPoolExecutor(1, "hookline-writer"))
            self._started = stack.pop_all()

    async def close(self) -> None:
        """Finish what was asked for and disconnect."""
        if self._open:
            self._open = False
            if self._lock_file is not None:
                self._lock_file.close()
            await asyncio.to_thread(self._started.close)

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run a reading function; it sees all that was written before."""
        self._expect_open()
        job = _Job(work)
        if self._waiting:
            self._writes.submit(self._reads.submit, self._read, job)
        else:
            self._reads.submit(self._read, job)
        return await job.future

    def write(self, work: Callable[[Connection], T], *, durable: bool = False) -> asyncio.Future[T]:
        """Hand over a writing function; see the protocol. Cancelling the result undoes nothing."""
        self._expect_open()
        job = _Job(work, "FULL" if durable else "NORMAL")
        self._waiting.append(job)
        self._writes.submit(self._write_waiting)
        return job.future

    async def migrate(self, component: str, steps: Sequence[Migration]) -> None:
        """Bring a component's tables up to date; see the protocol."""
        if await self.read(lambda connection: due(connection, component, steps)):
            run = self._writes.submit(self._migrator.run, self._writer, component, steps)
            await asyncio.wrap_future(run)

    def session_lock(self, session_id: str, timeout: float) -> AbstractAsyncContextManager[None]:
        """Own a session among all processes, for as long as the context lasts."""
        if self._lock_file is not None:
            return self._lock_file.own(session_id, f"Session {session_id}", timeout)
        name = hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()
        return own(self._locks / f"{name}.lock", f"Session {session_id}", timeout)

    search_statements = staticmethod(fulltext.statements)
    search_text = staticmethod(fulltext.stored)
    search_query = staticmethod(fulltext.query)

    def statements(self, sql: str) -> Iterable[str]:
        """The single statements of ``sql``; a trigger's body stays whole."""
        return statements(sql)

    def location(self) -> Path:
        """The database file."""
        return self._path

    def _expect_open(self) -> None:
        if not self._open:
            raise StoreError(f"The store {self._path} is not open.")

    def _read(self, job: _Job[Any]) -> None:
        try:
            self._reader.execute("BEGIN")  # one snapshot for all that the function reads
            job.run(self._reader)
        except StoreError as error:
            job.error = error
        self._reader.rollback()
        job.settle()

    def _write_waiting(self) -> None:
        """Run what waits now. Asked for once a write, so one that comes late finds nothing."""
        jobs = self._waiting[:BATCH_LIMIT]
        try:
            if jobs:
                self._commit(jobs)
        except StoreError as error:
            self._writer.rollback()
            for job in jobs:
                job.error = job.error or StoreError(str(error))
        del self._waiting[: len(jobs)]
        for job in jobs:
            job.settle()

    def _commit(self, jobs: Sequence[_Job[Any]]) -> None:
        """Run ``jobs`` in one transaction; one that fails takes back only what it did itself."""
        execute = self._writer.execute
        self._writer.rollback()  # of a batch whose own rollback failed
        execute(f"PRAGMA synchronous = {min(job.synchronous for job in jobs)}")  # FULL < NORMAL
        execute("BEGIN IMMEDIATE")
        for job in jobs:
            execute("SAVEPOINT work")
            job.run(self._writer)
            if not self._writer.raw.in_transaction:  # a full disk ends it for all
                ended = f"A transaction of {self._path} ended early, so nothing of it was saved"
                raise StoreError(f"{ended} ({job.error}).")
            if job.error:
                execute("ROLLBACK TO work")
            execute("RELEASE work")
        execute("COMMIT")
