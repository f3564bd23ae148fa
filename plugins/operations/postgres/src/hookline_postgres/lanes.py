"""Threads with one connection each: what is run again, what is tried until the database is there.

Writes that wait at the same moment on one lane share one transaction and so one flush of the log
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

from .address import Address
from .connection import Again, Broken, PgConnection, Taken
from .nodes import Node

T = TypeVar("T")
log = logging.getLogger("hookline.store")

BATCH_LIMIT = 64
"""Most writes in one transaction: the longer one is, the more often it meets another."""
TRIES = 20
"""How often a transaction is run that meets others. On a busy machine six, within 0.3 s, were not
enough, and a turn failed for nothing but that."""
LONGEST_PAUSE = 0.25
"""Seconds between two of them, at most."""
TAKEN_TRIES = 2
"""And how often one that finds what is to be unique: mostly it has been there for long."""
LINGER = 0.002
"""Seconds for which a write that nobody waits for is held back, to go with those that follow: it
would cost journeys of its own, and have the next one wait for them."""
UNTOLD = frozenset(
    {"inbox", "outbox", "sessions", "turns", "messages", "sidecars", "rewrites", "steps", "usage"}
)
"""Tables of which others are not told when they are written, since nothing keeps what is in them:
core's own, which change several times in every turn."""
PATIENCE = 30.0
"""Seconds for which a database that cannot be reached is tried again."""


class _Outcome(asyncio.Future[T]):
    """What a write will have come to. Who waits for it has the writer begin at once."""

    def __init__(self, loop: asyncio.AbstractEventLoop, begin: Callable[[], None]) -> None:
        super().__init__(loop=loop)
        self._begin = begin

    def __await__(self) -> Generator[Any, None, T]:
        if not self.done():
            self._begin()
        return (yield from super().__await__())


class Job(Generic[T]):
    """A function on its way to a thread, and its outcome on the way back."""

    def __init__(
        self, work: Callable[[Connection], T], key: str, durable: bool, begin: Callable[[], None]
    ) -> None:
        self.work, self.key, self.durable = work, key, durable
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[T] = _Outcome(self.loop, begin)
        self.error: BaseException | None = None
        self._value: T | None = None

    def run(self, connection: Connection) -> None:
        """Do the work and keep its outcome. Raises what is about the whole transaction."""
        self.error = self._value = None
        try:
            self._value = self.work(connection)
        except (Again, Broken, Fenced):
            raise
        except StopIteration as error:  # a future cannot carry it
            self.error = RuntimeError(f"A database function ran out of items: {error!r}")
        except BaseException as error:
            self.error = error

    def begin_with(self, connection: PgConnection) -> None:
        """Do the work; statements alone go to the server with what comes next."""
        if not isinstance(self.work, Batch):
            return self.run(connection)
        self.error = self._value = None
        try:
            connection.queue(self.work.statements)
        except StoreError as error:
            self.error = error

    def settle(self) -> None:
        """Tell the outcome to who waits for it, on the event loop that asked; from any thread."""
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


class Lane:
    """One thread with one connection; a lost connection is made anew."""

    def __init__(self, where: Address, name: str) -> None:
        self._where = where
        self._pool = ThreadPoolExecutor(1, name)
        self._connection: PgConnection | None = None

    def connection(self) -> PgConnection:
        """The connection, made now if there is none. Raises ``StoreError``."""
        if self._connection is None:
            self._connection = PgConnection(self._where)
        return self._connection

    def drop(self) -> None:
        """Forget a connection that is lost."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    async def run(self, work: Callable[[PgConnection], T], patience: float = PATIENCE) -> T:
        """Run ``work`` on this thread; see :meth:`patiently`."""

        def run() -> T:
            return self.patiently(lambda _: work(self.connection()), patience)

        return await asyncio.get_running_loop().run_in_executor(self._pool, run)

    def submit(self, work: Callable[[], None]) -> None:
        """Let this thread call ``work``, and do not wait for it."""
        self._pool.submit(work)

    def patiently(self, work: Callable[[int], T], patience: float = PATIENCE) -> T:
        """Run ``work``, which is told how often it met others; again if it met another transaction,
        and for ``patience`` seconds while the database is out of reach."""
        deadline, met = time.monotonic() + patience, 0
        while True:
            try:
                return work(met)
            except Again as error:
                met += 1
                if met >= TRIES:
                    told = f"The database was too busy: {met} transactions met others ({error})."
                    raise StoreError(told) from error
                time.sleep(random.uniform(0, min(LONGEST_PAUSE, 0.005 * 2**met)))
            except Broken as error:
                self.drop()
                if time.monotonic() > deadline:
                    raise
                log.warning("%s It is tried again.", error)
                time.sleep(random.uniform(0.05, 0.5))

    def close(self) -> None:
        """End the thread and disconnect."""
        self._pool.shutdown()
        self.drop()


class Writer(Lane):
    """A lane that takes writes in the order of the calls."""

    def __init__(self, where: Address, node: Node, number: int) -> None:
        """The ``number``-th writer of ``node``."""
        super().__init__(where, f"hookline-writer-{number}")
        self._node, self._number = node, number
        self._transaction = 0
        self._lock = threading.Lock()
        self._is_writing = False
        self._waiting: list[Job[Any]] = []  # each stays in it until it has been committed

    def add(
        self, work: Callable[[Connection], T], key: str = "", durable: bool = False
    ) -> asyncio.Future[T]:
        """Take a write."""
        job = Job(work, key, durable, self.begin)
        with self._lock:
            self._waiting.append(job)
            is_first = len(self._waiting) == 1
        if durable:
            self.begin()
        elif is_first:
            job.loop.call_later(LINGER, self.begin)
        return job.future

    def begin(self) -> None:
        """Have what waits written now."""
        with self._lock:
            if self._is_writing or not self._waiting:
                return
            self._is_writing = True
        self.submit(self._write_waiting)

    def waiting(self, key: str | None = None) -> list[asyncio.Future[Any]]:
        """The outcomes of what has not been committed, or of what has ``key``."""
        with self._lock:
            jobs = [job for job in self._waiting if key is None or job.key == key]
        return [job.future for job in jobs if not job.future.done()]

    def _write_waiting(self) -> None:
        """Run what waits now, in batches."""
        is_last = False
        while not is_last:
            with self._lock:
                jobs = self._waiting[:BATCH_LIMIT]
            try:
                self.patiently(lambda met, jobs=jobs: self._write(jobs, met))  # type: ignore[misc]
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

    def _write(self, jobs: Sequence[Job[Any]], met: int) -> None:
        """Commit ``jobs``: those that only have statements in few journeys if none fails."""
        if not (
            any(isinstance(job.work, Batch) for job in jobs)
            and self._commit(jobs, met, apart=False)
        ):
            self._commit(jobs, met, apart=True)

    def _commit(self, jobs: Sequence[Job[Any]], met: int, *, apart: bool) -> bool:
        """Run ``jobs`` in one transaction. ``apart``, one that fails takes back only what it did
        itself; else all is taken back, since it is not known which it was, and False returned."""
        connection, is_ending = self.connection(), False
        self._transaction += 1
        fence = self._node.fence(self._number, self._transaction)
        connection.begin("BEGIN ISOLATION LEVEL SERIALIZABLE", fence)
        if not any(job.durable for job in jobs):
            connection.later("SET LOCAL synchronous_commit = off")
        try:
            for job in jobs:
                if not apart:
                    job.begin_with(connection)
                    if job.error or connection.is_failed:
                        self._roll_back(connection)
                        return False
                    continue
                connection.later("SAVEPOINT work")
                job.run(connection)
                if connection.is_failed and job.error is None:
                    job.error = StoreError(
                        "A database function hid that one of its queries failed."
                    )
                if isinstance(job.error, Taken) and met + 1 < TAKEN_TRIES:
                    raise Again(str(job.error))
                if job.error:
                    connection.later("ROLLBACK TO work")
                connection.later("RELEASE work")
            connection.later("COMMIT")
            if told := connection.written - UNTOLD:
                connection.later(self._node.change(told))
            is_ending = True
            connection.flush()
        except Broken:
            self.drop()
            if not (is_ending and self._has_committed()):
                raise
            self._node.tell_change(connection.written - UNTOLD)
        except StoreError as error:
            self._roll_back(connection)
            if apart or isinstance(error, Fenced):
                raise
            return False
        except BaseException:
            self._roll_back(connection)
            raise
        return True

    def _has_committed(self) -> bool:
        """What the last transaction came to, whose end was sent when the connection broke."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return self._node.last_transaction(self._number) == self._transaction
            except Broken as error:
                if time.monotonic() > deadline:
                    told = f"It is not known whether the last transaction was saved: {error}"
                    raise StoreError(told) from error

    def _roll_back(self, connection: PgConnection) -> None:
        connection.begin()
        try:
            connection.run("ROLLBACK", {})
        except (StoreError, Again):
            self.drop()


_several: WeakSet[Any] = WeakSet()
"""The code of functions that have asked more than once."""


class _Another(BaseException):
    """A function that reads asks once more, so it needs one snapshot for all of its queries."""


class _Once:
    """A connection for a function that asks once: its statement is a transaction by itself."""

    def __init__(self, connection: PgConnection) -> None:
        self._connection = connection
        self._has_asked = False

    def _ask(self) -> PgConnection:
        if self._has_asked:
            raise _Another
        self._has_asked = True
        return self._connection

    def fetch(self, sql: str, params: Params = {}) -> list[Mapping[str, Any]]:  # noqa: B006
        return self._ask().fetch(sql, params)

    def execute(self, sql: str, params: Params = {}) -> int:  # noqa: B006
        raise _Another  # within a transaction it is refused, since that only reads

    def batch(self, statements: Sequence[tuple[str, Params]]) -> list[int]:
        raise _Another


def read(connection: PgConnection, work: Callable[[Connection], T]) -> T:
    """Run ``work`` on one snapshot of the database.

    One that asks once needs no transaction around it, which would take a journey to end. That it
    does is seen when it asks again: then it is run anew, and from the next time on at once so.
    """
    code = getattr(work, "__code__", None)
    if code is not None and code not in _several:
        with suppress(_Another):
            return work(_Once(connection))
        _several.add(code)
    connection.begin("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    try:
        return work(connection)
    finally:
        connection.begin()
        with suppress(Broken):
            connection.run("ROLLBACK", {})
