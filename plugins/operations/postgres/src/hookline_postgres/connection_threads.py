"""Threads with one database connection each, which retry conflicts and lost connections.

Writes that wait on one thread at the same moment share one transaction, and so one flush of the log
(group commit).
"""

from __future__ import annotations

import asyncio
import logging
import random
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Generic, TypeVar
from weakref import WeakSet

from hookline_hookspecs.drivers import Batch, Connection, Params
from hookline_hookspecs.errors import Fenced, StoreError

from .address import DatabaseAddress
from .connection import ConnectionLost, PgConnection, TransactionConflict, UniqueViolation
from .nodes import Node

T = TypeVar("T")
log = logging.getLogger("hookline.store")

MAX_BATCH_WRITES = 64
"""Writes in one transaction at most: longer transactions have more conflicts."""
MAX_ATTEMPTS = 20
"""Attempts for a transaction that conflicts with others. Six attempts within 0.3 s were too few on
a busy machine."""
MAX_RETRY_PAUSE = 0.25
"""Seconds between two attempts at most."""
MAX_UNIQUE_ATTEMPTS = 2
"""Attempts after a unique violation, which is rarely caused by a concurrent transaction."""
WRITE_DELAY = 0.002
"""Seconds that a write is delayed if no caller waits for it, so that later ones can join its
transaction."""
UNANNOUNCED_TABLES = frozenset(
    {"inbox", "outbox", "sessions", "turns", "messages", "sidecars", "rewrites", "steps", "usage"}
    | {"questions", "question_calls", "question_chats"}
)
"""Core's tables whose changes are not announced: they change often, and no process caches them."""
RECONNECT_TIMEOUT = 30.0
"""Seconds for which an unreachable database is retried."""


class _WriteFuture(asyncio.Future[T]):
    """The future of a write; awaiting it makes the writer begin at once."""

    def __init__(self, loop: asyncio.AbstractEventLoop, begin: Callable[[], None]) -> None:
        super().__init__(loop=loop)
        self._begin = begin

    def __await__(self) -> Generator[Any, None, T]:
        if not self.done():
            self._begin()
        return (yield from super().__await__())


class WriteJob(Generic[T]):
    """A write function for a thread, and its outcome."""

    def __init__(
        self, work: Callable[[Connection], T], key: str, durable: bool, begin: Callable[[], None]
    ) -> None:
        self.work = work
        self.key = key
        self.durable = durable
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[T] = _WriteFuture(self.loop, begin)
        self.error: BaseException | None = None
        self._value: T | None = None

    def run(self, connection: Connection) -> None:
        """Call the function and keep its outcome. Raises errors of the whole transaction."""
        self.error = self._value = None
        try:
            self._value = self.work(connection)
        except (TransactionConflict, ConnectionLost, Fenced):
            raise
        except StopIteration as error:  # a future cannot carry it
            self.error = RuntimeError(f"A database function ran out of items: {error!r}")
        except BaseException as error:
            self.error = error

    def begin_with(self, connection: PgConnection) -> None:
        """Call the function; a ``Batch`` is sent together with the next statement."""
        if not isinstance(self.work, Batch):
            return self.run(connection)
        self.error = self._value = None
        try:
            connection.queue(self.work.statements)
        except StoreError as error:
            self.error = error

    def settle(self) -> None:
        """Resolve the future on its event loop; callable from any thread."""
        with suppress(RuntimeError):  # the event loop is closed
            self.loop.call_soon_threadsafe(self._resolve)

    def _resolve(self) -> None:
        if self.future.done():
            if self.error:
                log.warning("A database function whose caller is gone failed: %s", self.error)
        elif self.error:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self._value)  # type: ignore[arg-type]


class ConnectionThread:
    """One thread with one connection, which it reopens if it is lost."""

    def __init__(self, where: DatabaseAddress, name: str) -> None:
        self._where = where
        self._pool = ThreadPoolExecutor(1, name)
        self._connection: PgConnection | None = None

    def connection(self) -> PgConnection:
        """The connection, opened if there is none. Raises ``StoreError``."""
        if self._connection is None:
            self._connection = PgConnection(self._where)
        return self._connection

    def drop(self) -> None:
        """Discard a lost connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    async def run(
        self, work: Callable[[PgConnection], T], retry_seconds: float = RECONNECT_TIMEOUT
    ) -> T:
        """Run ``work`` on this thread; see :meth:`retry`."""

        def run() -> T:
            return self.retry(lambda _: work(self.connection()), retry_seconds)

        return await asyncio.get_running_loop().run_in_executor(self._pool, run)

    def submit(self, work: Callable[[], None]) -> None:
        """Have this thread call ``work``, without waiting for it."""
        self._pool.submit(work)

    def retry(self, work: Callable[[int], T], retry_seconds: float = RECONNECT_TIMEOUT) -> T:
        """Call ``work`` with the number of conflicts so far, until it succeeds.

        It is repeated after conflicts with other transactions, and for ``retry_seconds`` seconds
        while the database is unreachable.
        """
        deadline = time.monotonic() + retry_seconds
        conflicts = 0
        while True:
            try:
                return work(conflicts)
            except TransactionConflict as error:
                conflicts += 1
                if conflicts >= MAX_ATTEMPTS:
                    message = f"The database is too busy: {conflicts} conflicts ({error})."
                    raise StoreError(message) from error
                time.sleep(random.uniform(0, min(MAX_RETRY_PAUSE, 0.005 * 2**conflicts)))
            except ConnectionLost as error:
                self.drop()
                if time.monotonic() > deadline:
                    raise
                log.warning("%s Retrying.", error)
                time.sleep(random.uniform(0.05, 0.5))

    def close(self) -> None:
        """End the thread and disconnect."""
        self._pool.shutdown()
        self.drop()


class WriterThread(ConnectionThread):
    """A thread that runs writes in the order of the calls."""

    def __init__(self, where: DatabaseAddress, node: Node, number: int) -> None:
        """The ``number``-th writer of ``node``."""
        super().__init__(where, f"hookline-writer-{number}")
        self._node = node
        self._number = number
        self._transaction = 0
        self._lock = threading.Lock()
        self._is_writing = False
        self._waiting: list[WriteJob[Any]] = []  # until they are committed

    def add(
        self, work: Callable[[Connection], T], key: str = "", durable: bool = False
    ) -> asyncio.Future[T]:
        """Queue a write and return its future."""
        job = WriteJob(work, key, durable, self.begin)
        with self._lock:
            self._waiting.append(job)
            is_first = len(self._waiting) == 1
        if durable:
            self.begin()
        elif is_first:
            job.loop.call_later(WRITE_DELAY, self.begin)
        return job.future

    def begin(self) -> None:
        """Start writing the queued jobs now."""
        with self._lock:
            if self._is_writing or not self._waiting:
                return
            self._is_writing = True
        self.submit(self._write_waiting)

    def waiting(self, key: str | None = None) -> list[asyncio.Future[Any]]:
        """The futures of writes that are not committed yet, optionally only those with ``key``."""
        with self._lock:
            jobs = [job for job in self._waiting if key is None or job.key == key]
        return [job.future for job in jobs if not job.future.done()]

    def _write_waiting(self) -> None:
        """Run the queued writes, in batches."""
        is_last = False
        while not is_last:
            with self._lock:
                jobs = self._waiting[:MAX_BATCH_WRITES]
            try:
                self.retry(lambda n, jobs=jobs: self._write(jobs, n))  # type: ignore[misc]
            except StoreError as error:
                for job in jobs:
                    job.error = job.error or error
            except BaseException as error:
                for job in jobs:
                    job.error = job.error or StoreError(repr(error))
            with self._lock:
                del self._waiting[: len(jobs)]
                is_last = not self._waiting
                self._is_writing = not is_last
            for job in jobs:
                job.settle()

    def _write(self, jobs: Sequence[WriteJob[Any]], conflicts: int) -> None:
        """Commit ``jobs``: first together, in few round trips, then separately if one fails."""
        if not (
            any(isinstance(job.work, Batch) for job in jobs)
            and self._commit(jobs, conflicts, separately=False)
        ):
            self._commit(jobs, conflicts, separately=True)

    def _commit(self, jobs: Sequence[WriteJob[Any]], conflicts: int, *, separately: bool) -> bool:
        """Run ``jobs`` in one transaction.

        ``separately``, each has a savepoint, and a failing one is rolled back alone. Otherwise all
        are rolled back, because it is unknown which one failed, and False is returned.
        """
        connection = self.connection()
        is_ending = False
        self._transaction += 1
        fence = self._node.fence(self._number, self._transaction)
        connection.begin("BEGIN ISOLATION LEVEL SERIALIZABLE", fence)
        if not any(job.durable for job in jobs):
            connection.run_before_next("SET LOCAL synchronous_commit = off")
        try:
            for job in jobs:
                if not separately:
                    job.begin_with(connection)
                    if job.error or connection.is_failed:
                        self._roll_back(connection)
                        return False
                    continue
                _run_in_savepoint(job, connection, conflicts)
            connection.run_before_next("COMMIT")
            if tables := connection.written - UNANNOUNCED_TABLES:
                connection.run_before_next(self._node.change_statement(tables))
            is_ending = True
            connection.flush()
        except ConnectionLost:
            self.drop()
            if not (is_ending and self._has_committed()):
                raise
            self._node.announce_change(connection.written - UNANNOUNCED_TABLES)
        except StoreError as error:
            self._roll_back(connection)
            if separately or isinstance(error, Fenced):
                raise
            return False
        except BaseException:
            self._roll_back(connection)
            raise
        return True

    def _has_committed(self) -> bool:
        """Whether the last transaction was committed, if the connection was lost at its end."""
        deadline = time.monotonic() + RECONNECT_TIMEOUT
        while True:
            try:
                return self._node.last_transaction(self._number) == self._transaction
            except ConnectionLost as error:
                if time.monotonic() > deadline:
                    message = f"It is unknown whether the last transaction was saved: {error}"
                    raise StoreError(message) from error

    def _roll_back(self, connection: PgConnection) -> None:
        connection.begin()
        try:
            connection.run("ROLLBACK", {})
        except (StoreError, TransactionConflict):
            self.drop()


def _run_in_savepoint(job: WriteJob[Any], connection: PgConnection, conflicts: int) -> None:
    """Run ``job``; if it fails, undo it alone. Raises ``TransactionConflict`` to run all again."""
    connection.run_before_next("SAVEPOINT work")
    job.run(connection)
    if connection.is_failed and job.error is None:
        job.error = StoreError("A database function ignored the failure of one of its queries.")
    if isinstance(job.error, UniqueViolation) and conflicts + 1 < MAX_UNIQUE_ATTEMPTS:
        raise TransactionConflict(str(job.error))
    if job.error:
        connection.run_before_next("ROLLBACK TO work")
    connection.run_before_next("RELEASE work")


_multi_query_code: WeakSet[Any] = WeakSet()
"""The code objects of functions that run more than one query."""


class _SecondQuery(BaseException):
    """A reading function runs a second query, so all its queries need one snapshot."""


class _SingleQueryConnection:
    """A connection for a function with a single query, which needs no explicit transaction."""

    def __init__(self, connection: PgConnection) -> None:
        self._connection = connection
        self._has_queried = False

    def _connection_once(self) -> PgConnection:
        if self._has_queried:
            raise _SecondQuery
        self._has_queried = True
        return self._connection

    def fetch(self, sql: str, params: Params = {}) -> list[Mapping[str, Any]]:  # noqa: B006
        return self._connection_once().fetch(sql, params)

    def execute(self, sql: str, params: Params = {}) -> int:  # noqa: B006
        raise _SecondQuery  # the read-only transaction will refuse it

    def batch(self, statements: Sequence[tuple[str, Params]]) -> list[int]:
        raise _SecondQuery


def read(connection: PgConnection, work: Callable[[Connection], T]) -> T:
    """Run ``work`` on one snapshot of the database.

    A single query needs no transaction, which would cost another round trip. If the function runs a
    second query, it is called again within a transaction, and from then on always.
    """
    code = getattr(work, "__code__", None)
    if code is not None and code not in _multi_query_code:
        with suppress(_SecondQuery):
            return work(_SingleQueryConnection(connection))
        _multi_query_code.add(code)
    connection.begin("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    try:
        return work(connection)
    finally:
        connection.begin()
        with suppress(ConnectionLost):
            connection.run("ROLLBACK", {})
