"""Writes under way: each is written down before it can last, so that a kill leaves no doubt.

What a killed process left is looked up in the database itself: PostgreSQL says what became of a
transaction, and of the others the rows are compared with what they were.
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

from .engines.base import Engine, Limits, Stop, Writer
from .undoing import Way, packed, way_from

if TYPE_CHECKING:
    from hookline_hookspecs.process_lock import ProcessLock

    from .config import Place
    from .parts import Parts

NOT_KNOWN = "its process died meanwhile, and whether it was done cannot be told; look at the rows"
SECONDS = 4.0
"""For looking up what became of one write."""


class Underway:
    """The writes that have begun and of which it is not yet written down what they came to."""

    def __init__(self, plugin: Parts) -> None:
        self._plugin = plugin
        self._open: set[str] = set()
        self._lock: ProcessLock | None = None
        self.settled: dict[str, str] = {}
        """By database, what became of the write that a process which died had begun."""

    @property
    def _process(self) -> ProcessLock:
        if self._lock is None:
            from hookline_hookspecs.process_lock import ProcessLock

            host = self._plugin.host
            self._lock = ProcessLock(host.storage, host.services.get(Store))
        return self._lock

    async def begin(
        self, ctx: Context, db: str, told: dict[str, Any], way: Way, *, before: str, receipt: str
    ) -> str:
        """Write down that a write begins, durably, and return what it is known by.

        ``before`` is the query that gave the way's rows; ``receipt`` what the engine can be asked
        about it.
        """
        plugin = self._plugin
        key = f"{begun_key(db, plugin.place(db))}{secrets.token_hex(8)}"
        self._open.add(key)  # before the lock, which the end of another write might give up
        await self._process.join()
        note(plugin.host, "sql", db, "begun", ctx=ctx, detail=told)
        data = {"process": self._process.id, "told": told, "before": before, "receipt": receipt}
        await plugin.host.storage.kv.set(key, {**data, "way": way.to_json()})
        return key

    async def end(self, key: str, *, known: bool = True) -> None:
        """Say that a write is over; one whose outcome is not ``known`` is looked up later."""
        self._open.discard(key)
        if known:
            await self._plugin.host.storage.kv.delete(key)
        if not self._open:
            await self._process.leave()

    async def settle(self, db: str) -> None:
        """Find out what became of writes whose process died, and write it down.

        What cannot be looked up now, since the database does not answer, is left for later.
        """
        plugin = self._plugin
        for key in await plugin.host.storage.kv.keys(begun_key(db, plugin.place(db))):
            data = await plugin.host.storage.kv.get(key)
            if data is None or key in self._open:
                continue
            process = data["process"]
            if process != self._process.id and await self._process.lives(process):
                continue
            with suppress(HooklineError, TimeoutError):
                await self._look_up(db, key, data)

    async def _look_up(self, db: str, key: str, data: dict[str, Any]) -> None:
        """Find out what became of one write, once among all who look at the same moment."""
        host = self._plugin.host
        async with AsyncExitStack() as held:
            async with asyncio.timeout(SECONDS):
                await held.enter_async_context(host.services[Store].own(key, SECONDS))
                # Its process may only have ended, or somebody else has looked it up meanwhile.
                if await host.storage.kv.get(key) is None or key in self._open:
                    return
                happened = await self._plugin.run(db, partial(_happened, data))
            await self._write_down(db, key, data, happened)

    async def _write_down(self, db: str, key: str, data: dict[str, Any], done: bool | None) -> None:
        plugin = self._plugin
        way, verdict = data["way"], "ran" if done else "not done"
        if done is None:
            verdict, way = "unknown", {**data["way"], "why": NOT_KNOWN}
        reason = "its process died; this was found out afterwards"
        note(plugin.host, "sql", db, verdict, detail={**data["told"], "reason": reason})
        if done is not False:
            await plugin.host.storage.kv.set(undo_key(db, plugin.place(db)), way)
        await plugin.host.storage.kv.delete(key)
        self.settled[db] = verdict


def receipt_of(writer: Writer) -> str:
    """What the engine can be asked about this transaction; empty if it does not tell."""
    if not writer.receipt:
        return ""
    return str(writer.rows(writer.receipt, Limits()).rows[0][0])


def undo_key(db: str, place: Place) -> str:
    """What the way back of a database's last write is kept under; of this one, not its name."""
    return f"undo:{db}@{place.shown}"


def begun_key(db: str, place: Place) -> str:
    """What the keys of a database's writes under way begin with."""
    return f"begun:{db}@{place.shown}:"


def _happened(data: dict[str, Any], engine: Engine, stop: Stop) -> bool | None:
    """Whether a write was done; None where that cannot be told."""
    way, limits = way_from(data["way"]), Limits(seconds=SECONDS)
    with engine.writing(limits, stop) as writer:
        if data["receipt"] and writer.happened:
            asked = writer.happened.format(int(data["receipt"]))
            state = writer.rows(asked, limits).rows[0][0]
            if state == "in progress":
                raise ToolError("it is still under way")
            return None if state is None else bool(state == "committed")
        if way.why or not data["before"]:
            return None
        most = replace(limits, rows=len(way.rows) + 1, size=64_000_000)
        now = writer.rows(data["before"], most).rows
    return sorted(map(repr, map(packed, now))) != sorted(map(repr, map(packed, way.rows)))
