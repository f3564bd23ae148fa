"""Records of running writes, each stored before its commit.

After a crash the outcome is looked up in the database: PostgreSQL reports the state of a
transaction; for the others, the rows are compared with the saved ones.
"""

from __future__ import annotations

import asyncio
import secrets
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import Context, HooklineError, Store, ToolError
from hookline_hookspecs.audit import note

from .engines.base import DatabaseEngine, StatementLimits, StopSignal, WriteTransaction
from .undo import UndoRecord, row_to_json, undo_record_from

if TYPE_CHECKING:
    from hookline_hookspecs.process_lock import ProcessLock

    from .config import DatabaseLocation
    from .database_access import DatabaseAccess

UNKNOWN_OUTCOME = "its process died, and the outcome is unknown; look at the rows"
LOOKUP_TIMEOUT = 4.0
"""Seconds to look up the outcome of one write."""


class PendingWrites:
    """The writes whose outcome is not recorded yet."""

    def __init__(self, plugin: DatabaseAccess) -> None:
        self._plugin = plugin
        self._open: set[str] = set()
        self._lock: ProcessLock | None = None
        self.settled: dict[str, str] = {}
        """By database, the outcome of a write whose process died."""

    @property
    def _process(self) -> ProcessLock:
        if self._lock is None:
            from hookline_hookspecs.process_lock import ProcessLock

            host = self._plugin.host
            self._lock = ProcessLock(host.storage, host.services.get(Store))
        return self._lock

    async def begin(
        self,
        ctx: Context,
        db: str,
        detail: dict[str, Any],
        record: UndoRecord,
        *,
        before: str,
        receipt: str,
    ) -> str:
        """Store a record that a write begins, and return its key.

        ``before`` is the query for the record's rows, ``receipt`` the engine's id of the
        transaction.
        """
        plugin = self._plugin
        key = f"{begun_key(db, plugin.location(db))}{secrets.token_hex(8)}"
        self._open.add(key)  # before the lock, which the end of another write could release
        await self._process.join()
        note(plugin.host, "sql", db, "begun", ctx=ctx, detail=detail)
        data = {"process": self._process.id, "told": detail, "before": before, "receipt": receipt}
        await plugin.host.storage.kv.set(key, {**data, "way": record.to_json()})
        return key

    async def end(self, key: str, *, known: bool = True) -> None:
        """Remove the record of a finished write; if the outcome is not ``known``, keep it."""
        self._open.discard(key)
        if known:
            await self._plugin.host.storage.kv.delete(key)
        if not self._open:
            await self._process.leave()

    async def settle(self, db: str) -> None:
        """Look up and record the outcome of writes whose process died.

        If the database does not answer, the record stays for the next time.
        """
        plugin = self._plugin
        for key in await plugin.host.storage.kv.keys(begun_key(db, plugin.location(db))):
            data = await plugin.host.storage.kv.get(key)
            if data is None or key in self._open:
                continue
            process = data["process"]
            if process != self._process.id and await self._process.lives(process):
                continue
            with suppress(HooklineError, TimeoutError):
                await self._look_up(db, key, data)

    async def _look_up(self, db: str, key: str, data: dict[str, Any]) -> None:
        """Look up one write, under a lock against other processes."""
        host = self._plugin.host
        async with AsyncExitStack() as held:
            async with asyncio.timeout(LOOKUP_TIMEOUT):
                await held.enter_async_context(host.services[Store].own(key, LOOKUP_TIMEOUT))
                # Its process may have finished it, or another process has looked it up.
                if await host.storage.kv.get(key) is None or key in self._open:
                    return
                committed = await self._plugin.run(db, partial(_was_committed, data))
            await self._record_outcome(db, key, data, committed)

    async def _record_outcome(
        self, db: str, key: str, data: dict[str, Any], done: bool | None
    ) -> None:
        plugin = self._plugin
        record = data["way"]
        verdict = "ran" if done else "not done"
        if done is None:
            verdict = "unknown"
            record = {**data["way"], "why": UNKNOWN_OUTCOME}
        reason = "its process died; this was looked up afterwards"
        note(plugin.host, "sql", db, verdict, detail={**data["told"], "reason": reason})
        if done is not False:
            await plugin.host.storage.kv.set(undo_key(db, plugin.location(db)), record)
        await plugin.host.storage.kv.delete(key)
        self.settled[db] = verdict


def receipt_of(writer: WriteTransaction) -> str:
    """The engine's id of this transaction; empty if it has none."""
    if not writer.receipt:
        return ""
    return str(writer.rows(writer.receipt, StatementLimits()).rows[0][0])


def undo_key(db: str, location: DatabaseLocation) -> str:
    """The key of a database's undo record, which includes its location."""
    return f"undo:{db}@{location.display}"


def begun_key(db: str, location: DatabaseLocation) -> str:
    """The prefix of the keys of a database's pending writes."""
    return f"begun:{db}@{location.display}:"


def _was_committed(data: dict[str, Any], engine: DatabaseEngine, stop: StopSignal) -> bool | None:
    """Whether a write was committed; None if unknown."""
    record, limits = undo_record_from(data["way"]), StatementLimits(seconds=LOOKUP_TIMEOUT)
    with engine.writing(limits, stop) as writer:
        if data["receipt"] and writer.state_query:
            sql = writer.state_query.format(int(data["receipt"]))
            state = writer.rows(sql, limits).rows[0][0]
            if state == "in progress":
                raise ToolError("it is still running")
            return None if state is None else bool(state == "committed")
        if record.why or not data["before"]:
            return None
        most = replace(limits, rows=len(record.rows) + 1, size=64_000_000)
        now = writer.rows(data["before"], most).rows
    return sorted(map(repr, map(row_to_json, now))) != sorted(
        map(repr, map(row_to_json, record.rows))
    )
