"""The tool ``db_write``: tries a write and rolls it back, asks, then runs what was approved."""

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

from .engines.base import (
    DatabaseEngine,
    ResultRows,
    StatementLimits,
    StopSignal,
    TableInfo,
    WriteTransaction,
)
from .pending_writes import PendingWrites, receipt_of, undo_key
from .results import as_csv, preview_rows
from .undo import UndoRecord, make_undo_record
from .write_guard import WriteStatement, check_write

if TYPE_CHECKING:
    from .database_access import DatabaseAccess

MAX_SAVED_ROWS = 1_000
"""Rows that are saved before a write."""
TRIAL_TIMEOUT = 4.0
"""Seconds for the trial; core cancels the hook after five."""
NOT_UNDONE = {
    "mysql": "MariaDB and MySQL cannot undo this or try it first: it takes effect at once."
}

UNSURE_NOTE = "The outcome is looked up before the next write; look at the rows"


class _WriteProgress:
    """The progress of a write, shared by its thread and the event loop. ``key`` is that of its
    record, once stored."""

    def __init__(self) -> None:
        self.key = ""
        self._lock = threading.Lock()
        self._committing = False
        self._dropped = False

    def commit(self) -> None:
        """Mark the commit as started. Raises ``ToolError`` if the write was stopped."""
        with self._lock:
            if self._dropped:
                raise ToolError("it was stopped, so nothing was changed")
            self._committing = True

    def drop(self) -> bool:
        """Stop the write; return whether it is certain that it is not committed."""
        with self._lock:
            self._dropped = True
            return not self._committing


@dataclass(frozen=True, slots=True)
class WriteTrial:
    """The effect of a statement: ``count`` rows, -1 if unknown."""

    count: int
    before: ResultRows | None
    warning: str = ""


class WriteTool:
    """The tool ``db_write`` and its approval."""

    def __init__(self, plugin: DatabaseAccess) -> None:
        self._plugin = plugin
        self._approved: dict[tuple[str, str, str], int] = {}
        self._failed: dict[tuple[str, str, str], str] = {}
        """Why the trial of a write failed, until the call itself fails with the same reason."""
        self.pending = PendingWrites(plugin)

    async def question(self, ctx: Context, db: str, sql: str) -> Ask | Deny | None:
        """Try a write and ask for approval. None for a call that fails anyway."""
        key = (ctx.session.id, db, sql)
        self._approved.pop(key, None)
        self._failed.pop(key, None)
        if db not in self._plugin.config.connections:
            return None
        try:
            self._check_mode(db)
            if ctx.approval == "no":
                raise Refused("a write needs approval, and no one is here")
            await self.pending.settle(db)
            async with asyncio.timeout(TRIAL_TIMEOUT):
                change, trial = await self._try_write(db, sql)
        except TimeoutError:
            reason = f"trying it took longer than {TRIAL_TIMEOUT:g} s; change fewer rows at a time"
            return self._denied(ctx, db, sql, reason)
        except Refused as error:
            return self._denied(ctx, db, sql, str(error))
        except HooklineError as error:
            self._failed[key] = f"nothing was changed: {error}"
            return None
        self._approved[key] = trial.count
        return Ask(_question_text(db, change, trial), _preview(db, change, trial), once=True)

    def _denied(self, ctx: Context, db: str, sql: str, reason: str) -> Deny:
        detail = {"sql": sql, "tool": "db_write", "reason": reason}
        note(self._plugin.host, "sql", db, "denied", ctx=ctx, detail=detail)
        return Deny(f"nothing was changed: {reason}")

    def _check_mode(self, db: str) -> None:
        if self._plugin.config.connections[db].mode != "write":
            raise Refused(
                f"{db} may only be read; `plugins: databases: connections: {db}: {{mode: write}}` "
                "in config.yaml allows writes with approval"
            )

    async def _try_write(self, db: str, sql: str) -> tuple[WriteStatement, WriteTrial]:
        plugin = self._plugin
        location = plugin.location(db)
        limits = replace(plugin.limits, seconds=min(plugin.limits.seconds, TRIAL_TIMEOUT))

        def work(engine: DatabaseEngine, stop: StopSignal) -> tuple[WriteStatement, WriteTrial]:
            change = check_write(location.engine, sql)
            return change, _run_trial(engine, change, limits, stop)

        return await plugin.run(db, work)

    async def write(self, ctx: Context, db: str, sql: str) -> ToolOutput:
        """Run an approved write; with another number of rows than approved it is rolled back."""
        plugin = self._plugin
        plugin.connection(db)
        self._check_mode(db)
        if (failure := self._failed.pop((ctx.session.id, db, sql), "")) != "":
            note(plugin.host, "sql", db, "failed", ctx=ctx, detail={"sql": sql, "reason": failure})
            raise ToolError(failure)
        approved = self._approved.pop((ctx.session.id, db, sql), None)
        if approved is None:
            raise Refused("this statement was not approved")
        detail = {"sql": sql, "tool": "db_write", "approved": approved}
        progress = _WriteProgress()
        try:
            change, trial, record = await self._run_write(ctx, db, detail, progress)
        except (HooklineError, asyncio.CancelledError) as error:
            sure = progress.drop()
            verdict = "denied" if isinstance(error, Refused) else "failed"
            reason = str(error) or "it was stopped"
            if not sure:
                verdict = "unknown"
                reason = f"{reason}. {UNSURE_NOTE}"
            note(plugin.host, "sql", db, verdict, ctx=ctx, detail={**detail, "reason": reason})
            if progress.key:
                await self.pending.end(progress.key, known=sure)
            if sure or isinstance(error, asyncio.CancelledError):
                raise
            raise ToolError(reason) from None
        note(plugin.host, "sql", db, "ran", ctx=ctx, detail={**detail, "rows": trial.count})
        await plugin.host.storage.kv.set(undo_key(db, plugin.location(db)), record.to_json())
        await self.pending.end(progress.key)
        return await self._result(ctx, db, change, trial)

    async def _run_write(
        self, ctx: Context, db: str, detail: dict[str, Any], progress: _WriteProgress
    ) -> tuple[WriteStatement, WriteTrial, UndoRecord]:
        """Run and commit the write, and update ``progress``."""
        plugin = self._plugin
        location = plugin.location(db)
        limits = plugin.limits
        loop = asyncio.get_running_loop()

        def work(
            engine: DatabaseEngine, stop: StopSignal
        ) -> tuple[WriteStatement, WriteTrial, UndoRecord]:
            change = check_write(location.engine, detail["sql"])
            tables = _tables(engine, limits, stop) if change.before else []
            with engine.writing(limits, stop) as writer:
                before = _before(writer, change, limits)
                record = make_undo_record(change, before, tables)
                begun = self.pending.begin(
                    ctx, db, detail, record, before=change.before, receipt=receipt_of(writer)
                )
                progress.key = asyncio.run_coroutine_threadsafe(begun, loop).result(limits.seconds)
                point("db-begun")
                trial = _run(engine, writer, change, before, detail["approved"])
                if trial.count != detail["approved"]:
                    raise ToolError(
                        f"it would now change {trial.count:,} rows, not the {detail['approved']:,} "
                        "that were approved, so nothing was changed. Call db_write again to ask "
                        "for approval"
                    )
                progress.commit()
                writer.commit()
                point("db-committed")
            return change, trial, record

        return await plugin.run(db, work)

    async def _result(
        self, ctx: Context, db: str, change: WriteStatement, trial: WriteTrial
    ) -> ToolOutput:
        done = f"{change.verb} of {change.table} in {db} is done"
        if trial.count >= 0:
            done += f": {_rows(trial.count)} changed"
        notes: list[str] = []
        keeper = self._plugin.host.services.get(ArtifactKeeper)
        if trial.before is not None and trial.before.rows and keeper is not None:
            text = await ctx.read(as_csv(trial.before), f"database {db}", kind="tool")
            id_ = await keeper.keep(ctx, text)
            notes.append(f'the rows before the write: fetch_artifact(id="{id_}")')
        return ToolOutput(done + ".", notes=tuple(notes))


def _tables(engine: DatabaseEngine, limits: StatementLimits, stop: StopSignal) -> list[TableInfo]:
    """The tables with their keys; none if they cannot be read in two attempts."""
    for _ in range(2):
        with contextlib.suppress(HooklineError):
            return engine.tables(limits, stop)
    return []


def _run_trial(
    engine: DatabaseEngine, change: WriteStatement, limits: StatementLimits, stop: StopSignal
) -> WriteTrial:
    """Run a statement and roll it back; one that cannot be rolled back is not run."""
    with engine.writing(limits, stop) as writer:
        return _run(engine, writer, change, _before(writer, change, limits), None)


def _before(
    writer: WriteTransaction, change: WriteStatement, limits: StatementLimits
) -> ResultRows | None:
    """The rows that a statement affects, as they are now; None if no query finds them."""
    if not change.before:
        return None
    kept = replace(limits, rows=MAX_SAVED_ROWS, size=max(limits.size, 4_000_000))
    return writer.rows(change.before, kept)


def _run(
    engine: DatabaseEngine,
    writer: WriteTransaction,
    change: WriteStatement,
    before: ResultRows | None,
    approved: int | None,
) -> WriteTrial:
    """Run a statement in a transaction; one that cannot be rolled back only if ``approved``."""
    if change.structure and not writer.undoes_structure:
        if approved is not None:
            writer.run(change.sql)
        return WriteTrial(-1, None, NOT_UNDONE.get(engine.name, ""))
    if change.structure:
        writer.run(change.sql)
        return WriteTrial(-1, None)
    if writer.undoes(change.name):
        return WriteTrial(writer.run(change.sql), before)
    if before is None or before.more:
        raise Refused(
            f"the table {change.table} has no transactions, so this cannot be tried first; change "
            f"at most {MAX_SAVED_ROWS:,} of its rows by a plain UPDATE or DELETE"
        )
    count = len(before.rows)
    if approved is not None and count == approved:
        count = writer.run(change.sql)
    return WriteTrial(
        count, before, f"The table {change.table} has no transactions: nothing undoes it."
    )


def _question_text(db: str, change: WriteStatement, trial: WriteTrial) -> str:
    what = f"it changes {_rows(trial.count)}" if trial.count >= 0 else "it changes the structure"
    return " ".join(filter(None, (f"{what} of {change.table} in {db}.", trial.warning)))


def _preview(db: str, change: WriteStatement, trial: WriteTrial) -> str:
    """The literal statement, its database, the number of rows, and some of the rows."""
    parts = [change.sql, f"in {db}: {_question_text(db, change, trial)}"]
    if trial.before is not None and trial.before.rows:
        table, shown = preview_rows(trial.before)
        total = trial.count if trial.before.more else len(trial.before.rows)
        head = f"Current rows ({shown} of {_rows(total)}):"
        parts.append(f"{head}\n{table}")
    elif trial.count > 0 and change.verb != "INSERT":
        parts.append("The current rows are not shown, because the statement uses several tables.")
    return "\n\n".join(parts)


def _rows(count: int) -> str:
    return f"{count:,} row{'' if count == 1 else 's'}"
