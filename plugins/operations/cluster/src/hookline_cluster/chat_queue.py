"""The queue of chats that wait for a worker: procrastinate, in the same database.

A job is only a hint that a chat has work. The messages are in the inbox, which is committed before.
So a job that is lost or runs twice does no harm: :mod:`.active_chats` owns the chat while it works,
and the sweep queues unclaimed chats again. A job has a ``queueing_lock``, so that a chat is queued
once, and never a ``lock``, which a killed worker would keep.
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
QUEUE_NAME = "hookline"
"""The queue's name; the task's is ``drain``."""
RESTART_SECONDS = 1.0
"""Seconds after which a worker that lost the database is restarted."""
STALLED_SECONDS = 30.0
"""Seconds of silence of its worker after which a job counts as lost."""
MAX_CONNECTIONS = 4
MIGRATION_LOCK = 7_261_130_217
"""The advisory lock for migrating procrastinate's tables; any number works."""


class ChatQueue:
    """Chats by key, each queued at most once.

    Args:
        conninfo: libpq's connection string.
        drain: processes the messages of a chat; it may be called for a chat without any.
    """

    def __init__(self, conninfo: str, drain: Callable[[str], Awaitable[None]]) -> None:
        self._conninfo = conninfo
        self._app: App | None = None
        self._opening = asyncio.Lock()
        self._drain = drain
        self.is_ending = False
        """True once :meth:`work` must return when it is cancelled."""

    async def defer(self, key: str) -> None:
        """Queue ``key`` for a worker. Raises ``StoreError``."""
        app = await self._connect()
        try:
            with suppress(exceptions.AlreadyEnqueued):
                await app.configure_task("drain", queue=QUEUE_NAME, queueing_lock=key).defer_async(
                    key=key
                )
        except (exceptions.ConnectorException, psycopg.Error) as error:
            raise StoreError(f"Cannot queue {key} for a worker: {error}") from error

    async def work(self, turns: int) -> None:
        """Work on up to ``turns`` keys at once until cancelled; running ones are finished then."""
        while not self.is_ending:
            try:
                app = await self._connect()
                await app.run_worker_async(
                    queues=[QUEUE_NAME],
                    concurrency=turns,
                    delete_jobs="always",
                    install_signal_handlers=False,
                    fetch_job_polling_interval=2.0,
                )
            except (StoreError, exceptions.ConnectorException, psycopg.Error) as error:
                if self.is_ending:
                    return
                log.warning("The queue is unreachable, retrying: %s", error)
            await asyncio.sleep(RESTART_SECONDS)

    async def tidy(self) -> None:
        """Finish and delete the jobs of dead workers. Raises ``StoreError``."""
        app = await self._connect()
        try:
            stalled = await app.job_manager.get_stalled_jobs(
                seconds_since_heartbeat=STALLED_SECONDS
            )
            for job in stalled:
                with suppress(exceptions.ConnectorException):  # another process has finished it
                    await app.job_manager.finish_job(job, Status.FAILED, delete_job=True)
        except (exceptions.ConnectorException, psycopg.Error) as error:
            raise StoreError(f"Cannot find jobs of dead workers: {error}") from error

    async def close(self) -> None:
        """Disconnect."""
        if self._app is not None:
            app, self._app = self._app, None
            await app.close_async()

    async def _connect(self) -> App:
        async with self._opening:
            if self._app is None:
                try:
                    _redirect_logs()
                    await _migrate_tables(self._conninfo)
                    connector = PsycopgConnector(
                        pool_factory=_pool,
                        conninfo=self._conninfo,
                        min_size=1,
                        max_size=MAX_CONNECTIONS,
                    )
                    app = App(connector=connector)
                    app.task(name="drain")(self._run)
                    await app.open_async()
                except (exceptions.ConnectorException, psycopg.Error) as error:
                    raise StoreError(f"Cannot open the queue: {error}") from error
                self._app = app
            return self._app

    async def _run(self, key: str) -> None:
        await self._drain(key)


def _pool(**given: Any) -> AsyncConnectionPool:
    """procrastinate's pool, with one round trip to the database for a statement instead of four.

    Each statement is a transaction of its own, without BEGIN and COMMIT, and a closed connection is
    detected without a query.
    """
    return AsyncConnectionPool(**given | {"check": _check_connection, "configure": _configure})


async def _configure(connection: psycopg.AsyncConnection[Any]) -> None:
    await connection.set_autocommit(True)


async def _check_connection(connection: psycopg.AsyncConnection[Any]) -> None:
    """Raise ``psycopg.OperationalError`` if the connection is broken.

    The database is queried only if it has sent data unasked, which may mean that it closes.
    """
    with DefaultSelector() as selector:
        selector.register(connection.fileno(), EVENT_READ)
        if not selector.select(0):
            return
    await AsyncConnectionPool.check_connection(connection)


def _redirect_logs() -> None:
    """Send the libraries' logs to Hookline's log, not to the screen."""
    for name in ("procrastinate", "psycopg"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = logging.getLogger("hookline").handlers, False


async def _migrate_tables(conninfo: str) -> None:
    """Create procrastinate's tables or migrate them to its version, one process at a time."""
    steps = sorted(
        (file for file in files("procrastinate.sql").joinpath("migrations").iterdir()),
        key=lambda file: file.name,
    )
    scripts = {file.name: file for file in steps if file.name.endswith(".sql")}
    async with await psycopg.AsyncConnection.connect(conninfo) as connection:
        await connection.execute("SELECT pg_advisory_xact_lock(%s)", [MIGRATION_LOCK])
        rows = await (await connection.execute("SELECT step FROM cluster_queue")).fetchall()
        done = {row[0] for row in rows}
        if missing := [name for name in scripts if name not in done]:
            scripts_to_run = [SchemaManager.get_schema()]
            if done:
                scripts_to_run = [scripts[name].read_text("utf-8") for name in missing]
            for script in scripts_to_run:
                await _execute(connection, script)
            for name in missing:
                await connection.execute("INSERT INTO cluster_queue VALUES (%s)", [name])


async def _execute(connection: psycopg.AsyncConnection[Any], script: str) -> None:
    await connection.execute(script.encode())
