"""The queue of chats that wait for a worker: procrastinate, in the same database.

A job is nothing but a hint that a chat has something to do. What is to be done stands in the inbox,
which is committed before. So a job that is lost, or run twice, does no harm: :mod:`.lanes` owns the
chat while it works, and the sweep defers again what nobody has. It has a ``queueing_lock``, so that
a chat waits at most once, and never a ``lock``, which a killed worker would keep.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from importlib.resources import files
from selectors import EVENT_READ, DefaultSelector
from typing import Any

import psycopg
from hookline_hookspecs import StoreError
from procrastinate import App, PsycopgConnector, exceptions
from procrastinate.jobs import Status
from procrastinate.schema import SchemaManager
from psycopg_pool import AsyncConnectionPool

log = logging.getLogger("hookline.plugin.cluster")
NAME = "hookline"
"""The queue's name; the task's is ``drain``."""
AGAIN_SECONDS = 1.0
"""After which a worker that lost the database is started anew."""
STALLED_SECONDS = 30.0
"""Without a word of its worker, after which a job counts as lost."""
CONNECTIONS = 4
KEEP_LOCK = 7_261_130_217
"""The number of the lock under which procrastinate's tables are brought up to date; any will do."""


class Queue:
    """Chats by key, each waiting at most once.

    Args:
        conninfo: libpq's parameters.
        drain: does what there is to do for a key; it may be called for one that has nothing.
    """

    def __init__(self, conninfo: str, drain: Callable[[str], Awaitable[None]]) -> None:
        self._conninfo = conninfo
        self._app: App | None = None
        self._opening = asyncio.Lock()
        self._drain = drain
        self.is_ending = False
        """:meth:`work` returns when it is cancelled, whatever it is at."""

    async def defer(self, key: str) -> None:
        """Have some worker look at ``key``. Raises ``StoreError``."""
        app = await self._opened()
        try:
            with suppress(exceptions.AlreadyEnqueued):
                await app.configure_task("drain", queue=NAME, queueing_lock=key).defer_async(
                    key=key
                )
        except (exceptions.ConnectorException, psycopg.Error) as error:
            raise StoreError(f"A worker cannot be told that {key} waits: {error}") from error

    async def work(self, turns: int) -> None:
        """Work on keys, so many at once, until cancelled; then those at hand are finished."""
        while not self.is_ending:
            try:
                app = await self._opened()
                await app.run_worker_async(
                    queues=[NAME],
                    concurrency=turns,
                    delete_jobs="always",
                    install_signal_handlers=False,
                    fetch_job_polling_interval=2.0,
                )
            except (StoreError, exceptions.ConnectorException, psycopg.Error) as error:
                if self.is_ending:
                    return
                log.warning("The queue cannot be reached, which is tried again: %s", error)
            await asyncio.sleep(AGAIN_SECONDS)

    async def tidy(self) -> None:
        """Finish and delete the jobs of workers that are gone. Raises ``StoreError``."""
        app = await self._opened()
        try:
            stalled = await app.job_manager.get_stalled_jobs(
                seconds_since_heartbeat=STALLED_SECONDS
            )
            for job in stalled:
                with suppress(exceptions.ConnectorException):  # another has done it
                    await app.job_manager.finish_job(job, Status.FAILED, delete_job=True)
        except (exceptions.ConnectorException, psycopg.Error) as error:
            raise StoreError(f"Jobs of dead workers cannot be found: {error}") from error

    async def close(self) -> None:
        """Disconnect."""
        if self._app is not None:
            app, self._app = self._app, None
            await app.close_async()

    async def _opened(self) -> App:
        async with self._opening:
            if self._app is None:
                try:
                    _log_with_ours()
                    await _prepare(self._conninfo)
                    connector = PsycopgConnector(
                        pool_factory=_pool,
                        conninfo=self._conninfo,
                        min_size=1,
                        max_size=CONNECTIONS,
                    )
                    app = App(connector=connector)
                    app.task(name="drain")(self._run)
                    await app.open_async()
                except (exceptions.ConnectorException, psycopg.Error) as error:
                    raise StoreError(f"The queue cannot be opened: {error}") from error
                self._app = app
            return self._app

    async def _run(self, key: str) -> None:
        await self._drain(key)


def _pool(**given: Any) -> AsyncConnectionPool:
    """procrastinate's pool, with one journey to the database for a statement instead of four.

    Each of its statements is a transaction of its own, which needs no BEGIN and COMMIT. That the
    database has hung up shows without asking it.
    """
    return AsyncConnectionPool(**given | {"check": _look, "configure": _configure})


async def _configure(connection: psycopg.AsyncConnection[Any]) -> None:
    await connection.set_autocommit(True)


async def _look(connection: psycopg.AsyncConnection[Any]) -> None:
    """Raise ``psycopg.OperationalError`` if the connection is broken. The database is asked only if
    it has said something unasked, which may be its good-bye."""
    with DefaultSelector() as selector:
        selector.register(connection.fileno(), EVENT_READ)
        if not selector.select(0):
            return
    await AsyncConnectionPool.check_connection(connection)


def _log_with_ours() -> None:
    """Let the libraries log where Hookline does, and not to the screen."""
    for name in ("procrastinate", "psycopg"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = logging.getLogger("hookline").handlers, False


async def _prepare(conninfo: str) -> None:
    """Make procrastinate's tables, or bring them up to its version, one process at a time."""
    steps = sorted(
        (file for file in files("procrastinate.sql").joinpath("migrations").iterdir()),
        key=lambda file: file.name,
    )
    scripts = {file.name: file for file in steps if file.name.endswith(".sql")}
    async with await psycopg.AsyncConnection.connect(conninfo) as connection:
        await connection.execute("SELECT pg_advisory_xact_lock(%s)", [KEEP_LOCK])
        rows = await (await connection.execute("SELECT step FROM cluster_queue")).fetchall()
        done = {row[0] for row in rows}
        if missing := [name for name in scripts if name not in done]:
            made = [SchemaManager.get_schema()]
            if done:
                made = [scripts[name].read_text("utf-8") for name in missing]
            for script in made:
                await _execute(connection, script)
            for name in missing:
                await connection.execute("INSERT INTO cluster_queue VALUES (%s)", [name])


async def _execute(connection: psycopg.AsyncConnection[Any], script: str) -> None:
    await connection.execute(script.encode())
