"""The way of a write: tried and rolled back, put before a person, then run as it was approved."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import (
    ArtifactKeeper,
    Ask,
    Context,
    Deny,
    HooklineError,
    Refused,
    ToolError,
    ToolOutput,
)
from hookline_hookspecs.audit import note
from hookline_hookspecs.crash import point

from .changes import Change, judge_change
from .engines.base import Engine, Limits, Rows, Stop, Table, Writer
from .results import as_csv, glimpse
from .underway import Underway, receipt_of, undo_key
from .undoing import Way, way_back

if TYPE_CHECKING:
    from .parts import Parts

MOST_BEFORE = 1_000
"""Rows that are kept as they were."""
JUDGE_SECONDS = 4.0
"""For the trial; core ends the hook after five."""
NOT_UNDONE = {
    "mysql": "MariaDB and MySQL cannot undo this, nor try it first: it is in force at once."
}

UNSURE = "Whether it was done is looked up before the next write; look at the rows"


class _Marks:
    """How far a write has come, as its thread and the loop both see it: ``key`` once it is written
    down."""

    def __init__(self) -> None:
        self.key = ""
        self._lock = threading.Lock()
        self._committing = self._dropped = False

    def commit(self) -> None:
        """Say that it is made to last now. Raises ``ToolError`` if nobody waits for it any more."""
        with self._lock:
            if self._dropped:
                raise ToolError("it was stopped, so nothing was changed")
            self._committing = True

    def drop(self) -> bool:
        """Give it up; return whether it is certain that it does not last."""
        with self._lock:
            self._dropped = True
            return not self._committing


@dataclass(frozen=True, slots=True)
class Trial:
    """What a statement would change: ``count`` rows, -1 where that is not known."""

    count: int
    before: Rows | None
    warning: str = ""


class Writing:
    """The tool ``db_write``, and the question before it."""

    def __init__(self, plugin: Parts) -> None:
        self._plugin = plugin
        self._approved: dict[tuple[str, str, str], int] = {}
        self.underway = Underway(plugin)

    async def question(self, ctx: Context, db: str, sql: str) -> Ask | Deny | None:
        """Try a write, and ask. None for a call that fails by itself."""
        key = (ctx.session.id, db, sql)
        self._approved.pop(key, None)
        if db not in self._plugin.config.connections:
            return None
        try:
            self._check_mode(db)
            if ctx.approval == "no":
                raise Refused("a write needs a person's approval, and nobody is here")
            await self.underway.settle(db)
            async with asyncio.timeout(JUDGE_SECONDS):
                change, trial = await self._tried(db, sql)
        except TimeoutError:
            reason = f"trying it took longer than {JUDGE_SECONDS:g} s; change fewer rows at a time"
            return self._denied(ctx, db, sql, reason)
        except HooklineError as error:
            return self._denied(ctx, db, sql, str(error))
        self._approved[key] = trial.count
        return Ask(_asked(db, change, trial), _preview(db, change, trial), once=True)

    def _denied(self, ctx: Context, db: str, sql: str, reason: str) -> Deny:
        told = {"sql": sql, "tool": "db_write", "reason": reason}
        note(self._plugin.host, "sql", db, "denied", ctx=ctx, detail=told)
        return Deny(f"nothing was changed: {reason}")

    def _check_mode(self, db: str) -> None:
        if self._plugin.config.connections[db].mode != "write":
            raise Refused(
                f"{db} may only be read; `plugins: databases: connections: {db}: {{mode: write}}` "
                "in config.yaml lets a person approve writes"
            )

    async def _tried(self, db: str, sql: str) -> tuple[Change, Trial]:
        plugin = self._plugin
        place = plugin.place(db)
        limits = replace(plugin.limits, seconds=min(plugin.limits.seconds, JUDGE_SECONDS))

        def work(engine: Engine, stop: Stop) -> tuple[Change, Trial]:
            change = judge_change(place.engine, sql)
            return change, _trial(engine, change, limits, stop)

        return await plugin.run(db, work)

    async def write(self, ctx: Context, db: str, sql: str) -> ToolOutput:
        """Run what was approved; anything else than the approved number of rows is rolled back."""
        plugin = self._plugin
        plugin.connection(db)
        self._check_mode(db)
        approved = self._approved.pop((ctx.session.id, db, sql), None)
        if approved is None:
            raise Refused("nobody approved this statement")
        told = {"sql": sql, "tool": "db_write", "approved": approved}
        marks = _Marks()
        try:
            change, trial, way = await self._done(ctx, db, told, marks)
        except (HooklineError, asyncio.CancelledError) as error:
            sure, verdict = marks.drop(), "denied" if isinstance(error, Refused) else "failed"
            reason = str(error) or "it was stopped"
            if not sure:
                verdict, reason = "unknown", f"{reason}. {UNSURE}"
            note(plugin.host, "sql", db, verdict, ctx=ctx, detail={**told, "reason": reason})
            if marks.key:
                await self.underway.end(marks.key, known=sure)
            if sure or isinstance(error, asyncio.CancelledError):
                raise
            raise ToolError(reason) from None
        note(plugin.host, "sql", db, "ran", ctx=ctx, detail={**told, "rows": trial.count})
        await plugin.host.storage.kv.set(undo_key(db, plugin.place(db)), way.to_json())
        await self.underway.end(marks.key)
        return await self._told(ctx, db, change, trial)

    async def _done(
        self, ctx: Context, db: str, told: dict[str, Any], marks: _Marks
    ) -> tuple[Change, Trial, Way]:
        """Run it and make it last; ``marks`` says meanwhile how far it has come."""
        plugin, place = self._plugin, self._plugin.place(db)
        limits, loop = plugin.limits, asyncio.get_running_loop()

        def work(engine: Engine, stop: Stop) -> tuple[Change, Trial, Way]:
            change = judge_change(place.engine, told["sql"])
            tables = _tables(engine, limits, stop) if change.before else []
            with engine.writing(limits, stop) as writer:
                before = _before(writer, change, limits)
                way = way_back(change, before, tables)
                begun = self.underway.begin(
                    ctx, db, told, way, before=change.before, receipt=receipt_of(writer)
                )
                marks.key = asyncio.run_coroutine_threadsafe(begun, loop).result(limits.seconds)
                point("db-begun")
                trial = _run(engine, writer, change, before, told["approved"])
                if trial.count != told["approved"]:
                    raise ToolError(
                        f"it would now change {trial.count:,} rows, not the {told['approved']:,} "
                        "that were approved, so nothing was changed. Call db_write again to ask "
                        "about that"
                    )
                marks.commit()
                writer.commit()
                point("db-committed")
            return change, trial, way

        return await plugin.run(db, work)

    async def _told(self, ctx: Context, db: str, change: Change, trial: Trial) -> ToolOutput:
        done = f"{change.verb} of {change.table} in {db} is done"
        if trial.count >= 0:
            done += f": {_rows(trial.count)} changed"
        notes: list[str] = []
        keeper = self._plugin.host.services.get(ArtifactKeeper)
        if trial.before is not None and trial.before.rows and keeper is not None:
            text = await ctx.read(as_csv(trial.before), f"database {db}", kind="tool")
            id_ = await keeper.keep(ctx, text)
            notes.append(f'the rows as they were before: fetch_artifact(id="{id_}")')
        return ToolOutput(done + ".", notes=tuple(notes))


def _tables(engine: Engine, limits: Limits, stop: Stop) -> list[Table]:
    """The tables, for their keys; none where they cannot be read twice, which stops no write."""
    for _ in range(2):
        with contextlib.suppress(HooklineError):
            return engine.tables(limits, stop)
    return []


def _trial(engine: Engine, change: Change, limits: Limits, stop: Stop) -> Trial:
    """Run a statement and roll it back. What a server could not roll back is not run."""
    with engine.writing(limits, stop) as writer:
        return _run(engine, writer, change, _before(writer, change, limits), None)


def _before(writer: Writer, change: Change, limits: Limits) -> Rows | None:
    """The rows that a statement is about, as they are now; None where no query tells."""
    if not change.before:
        return None
    kept = replace(limits, rows=MOST_BEFORE, size=max(limits.size, 4_000_000))
    return writer.rows(change.before, kept)


def _run(
    engine: Engine, writer: Writer, change: Change, before: Rows | None, approved: int | None
) -> Trial:
    """Run a statement in the writer's transaction; with ``approved`` also what cannot be undone."""
    if change.structure and not writer.undoes_structure:
        if approved is not None:
            writer.run(change.sql)
        return Trial(-1, None, NOT_UNDONE.get(engine.name, ""))
    if change.structure:
        writer.run(change.sql)
        return Trial(-1, None)
    if writer.undoes(change.name):
        return Trial(writer.run(change.sql), before)
    if before is None or before.more:
        raise Refused(
            f"the table {change.table} has no transactions, so this cannot be tried first; change "
            f"at most {MOST_BEFORE:,} of its rows by a plain UPDATE or DELETE"
        )
    count = len(before.rows)
    if approved is not None and count == approved:
        count = writer.run(change.sql)
    return Trial(count, before, f"The table {change.table} has no transactions: nothing undoes it.")


def _asked(db: str, change: Change, trial: Trial) -> str:
    what = f"it changes {_rows(trial.count)}" if trial.count >= 0 else "it changes the structure"
    return " ".join(filter(None, (f"{what} of {change.table} in {db}.", trial.warning)))


def _preview(db: str, change: Change, trial: Trial) -> str:
    """The statement literally, where it runs, how much it changes, and what is there now."""
    parts = [change.sql, f"in {db}: {_asked(db, change, trial)}"]
    if trial.before is not None and trial.before.rows:
        table, shown = glimpse(trial.before)
        total = trial.count if trial.before.more else len(trial.before.rows)
        head = f"As it is now ({shown} of {_rows(total)}):"
        parts.append(f"{head}\n{table}")
    elif trial.count > 0 and change.verb != "INSERT":
        parts.append("What is there now is not shown, since the statement takes several tables.")
    return "\n\n".join(parts)


def _rows(count: int) -> str:
    return f"{count:,} row{'' if count == 1 else 's'}"
