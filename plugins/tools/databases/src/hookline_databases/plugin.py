"""The plugin: its tools, and how they run statements on an engine."""

from __future__ import annotations

import asyncio
import contextlib
import fnmatch
import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

from hookline_hookspecs import (
    ArtifactKeeper,
    Ask,
    Check,
    CheckResult,
    Code,
    Context,
    Deny,
    Effect,
    HooklineError,
    Host,
    Plugin,
    Refused,
    Target,
    ToolCall,
    ToolError,
    ToolOutput,
    hookimpl,
    tool,
)
from hookline_hookspecs.audit import note
from hookline_hookspecs.skill_folders import SkillFolder

from .config import ConnectionConfig, DatabaseLocation, DatabasesConfig, location_from_url
from .engines import engine_for
from .engines.base import DatabaseEngine, ResultRows, StatementLimits, StopSignal
from .write_tool import WriteTool

T = TypeVar("T")


def _write_effects(_plugin: object, _ctx: Context, call: ToolCall) -> list[Effect]:
    """Effects of ``db_write``: it sends data to a database."""
    return [Effect("send", f"database {call.arguments.get('db', '')}")]


MAX_CONCURRENT_STATEMENTS = 8
"""Statements that run at the same time."""
STOP_TIMEOUT = 5.0
"""Seconds after its timeout for a statement to stop."""
ESTIMATE_TIMEOUT = 4.0
"""Seconds to estimate a query's cost; core cancels the hook after five."""


class Databases(Plugin[DatabasesConfig]):
    """Queries databases, and changes them with approval."""

    def __init__(self, config: DatabasesConfig, host: Host) -> None:
        super().__init__(config, host)
        self._threads: ThreadPoolExecutor | None = None
        self._costly: set[tuple[str, str, str]] = set()
        self.write_tool = WriteTool(self)
        self.limits = StatementLimits(
            config.timeout_seconds,
            config.lock_seconds,
            config.max_rows,
            config.max_bytes,
            config.max_cost,
        )

    @hookimpl
    async def setup(self, host: Host) -> None:
        """Provide the skills, and look up the outcome of writes that a crash interrupted."""
        folder = Path(__file__).with_name("skills")
        host.services.add(SkillFolder, SkillFolder(folder, host.plugin))
        for name, one in self.config.connections.items():
            if one.mode == "write":
                with contextlib.suppress(
                    HooklineError
                ):  # an invalid URL is reported when it is used
                    await self.write_tool.pending.settle(name)

    @hookimpl
    def teardown(self, host: Host) -> None:
        """Accept no more statements."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)

    def connection(self, name: str) -> ConnectionConfig:
        """Return a configured connection. Raises ``ToolError``, which lists the known ones."""
        found = self.config.connections
        if name not in found:
            if why := self.left_out().get(name):
                raise ToolError(f"database {name} is not used: {why}")
            known = ", ".join(found) or "none; `hookline db add NAME` adds one"
            raise ToolError(f"there is no database {name[:40]!r}; known: {known}")
        return found[name]

    def left_out(self) -> dict[str, str]:
        """The configuration errors of unused connections, by name."""
        return {
            at[1]: f"config.yaml: plugins.databases.{'.'.join(at)}: {why}"
            for at, why in self.config.left_out.items()
        }

    def location(self, name: str) -> DatabaseLocation:
        """Return the location of a connection, without its password."""
        return location_from_url(self._url(name), name)

    def engine(self, name: str) -> DatabaseEngine:
        """Return the engine of a connection. Raises ``Refused`` and ``ToolError``."""
        workspace = Path(self.host.config.workspace).expanduser().resolve()
        return engine_for(
            self.location(name), self._url(name), home=self.host.home, workspace=workspace
        )

    def _url(self, name: str) -> str:
        return self.connection(name).url.get_secret_value()

    async def run(self, name: str, work: Callable[[DatabaseEngine, StopSignal], T]) -> T:
        """Run blocking work on a connection's engine in a thread, within the timeout."""
        if self._threads is None:
            self._threads = ThreadPoolExecutor(MAX_CONCURRENT_STATEMENTS, "hookline-db")
        stop = StopSignal()

        def work_on_engine() -> T:
            return work(self.engine(name), stop)

        future = asyncio.get_running_loop().run_in_executor(self._threads, work_on_engine)
        try:
            async with asyncio.timeout(
                self.limits.seconds + self.limits.lock_seconds + STOP_TIMEOUT
            ):
                return await asyncio.shield(future)
        except TimeoutError:
            raise ToolError(f"{name} did not answer within {self.limits.seconds:g} s") from None
        finally:
            if not future.done():
                stop.stop()
                future.add_done_callback(_ignore_result)

    @tool(read_only=True, origin="workspace")
    def db_list(self) -> str:
        """List the configured databases: name, engine, mode, location."""
        lines = []
        for name, one in self.config.connections.items():
            try:
                location = self.location(name)
                lines.append(f"{name}: {location.engine}, {one.mode}, {location.display}")
            except HooklineError as error:
                lines.append(f"{name}: cannot be used: {error}")
        lines += [f"{name}: cannot be used: {why}" for name, why in self.left_out().items()]
        return "\n".join(lines) or "No database is configured; `hookline db add NAME` adds one."

    @tool(read_only=True, origin="outside")
    async def db_schema(self, ctx: Context, db: str, like: str | None = None) -> str:
        """Show a database's tables and columns.

        Args:
            like: part of a table's name; % and * stand for any rest
        """
        from .results import format_schema

        detail: dict[str, Any] = {"tool": "db_schema", "like": like or ""}
        try:
            tables = await self.run(db, lambda engine, stop: engine.tables(self.limits, stop))
        except HooklineError as error:
            verdict = "denied" if isinstance(error, Refused) else "failed"
            note(self.host, "sql", db, verdict, ctx=ctx, detail={**detail, "reason": str(error)})
            raise
        if like:
            pattern = like.replace("%", "*").lower()
            pattern = pattern if "*" in pattern else f"*{pattern}*"
            tables = [table for table in tables if fnmatch.fnmatchcase(table.name.lower(), pattern)]
        note(self.host, "sql", db, "ran", ctx=ctx, detail={**detail, "rows": len(tables)})
        return await self._pre_read(ctx, db, format_schema(tables, like or ""))

    @tool(read_only=True, origin="outside")
    async def db_query(self, ctx: Context, db: str, sql: str) -> ToolOutput:
        """Run one SQL query that only reads.

        Args:
            db: a name from db_list
        """
        began = time.perf_counter()
        rows = await self._run_query(ctx, db, sql, explain=False)
        return await self._format_result(ctx, db, rows, time.perf_counter() - began)

    @tool(read_only=True, origin="outside")
    async def db_explain(self, ctx: Context, db: str, sql: str) -> ToolOutput:
        """Show the plan of a query without running it."""
        rows = await self._run_query(ctx, db, sql, explain=True)
        text = "\n".join(" ".join(map(str, row)) for row in rows.rows)
        return ToolOutput(await self._pre_read(ctx, db, text))

    @tool(origin="outside", effects=_write_effects)
    async def db_write(
        self, ctx: Context, db: Annotated[str, Target("database")], sql: Annotated[str, Code()]
    ) -> ToolOutput:
        """Change a database by one SQL statement. It is tried first and rolled back, and a person
        sees what it would change.

        Args:
            db: a name from db_list whose mode is write
        """
        return await self.write_tool.write(ctx, db, sql)

    async def _run_query(self, ctx: Context, db: str, sql: str, *, explain: bool) -> ResultRows:
        from .query_guard import check_query

        location = self.location(db)
        key = (ctx.session.id, db, sql)
        limits = replace(self.limits, cost=math.inf) if key in self._costly else self.limits
        if not explain:
            self._costly.discard(key)

        def work(engine: DatabaseEngine, stop: StopSignal) -> ResultRows:
            statement = check_query(location.engine, sql)
            ask = engine.explain if explain else engine.query
            return ask(statement, limits, stop)

        detail: dict[str, Any] = {"sql": sql, "tool": "db_explain" if explain else "db_query"}
        try:
            rows = await self.run(db, work)
        except HooklineError as error:
            verdict = "denied" if isinstance(error, Refused) else "failed"
            note(self.host, "sql", db, verdict, ctx=ctx, detail={**detail, "reason": str(error)})
            raise
        note(self.host, "sql", db, "ran", ctx=ctx, detail={**detail, "rows": len(rows.rows)})
        return rows

    @hookimpl
    async def pre_tool(self, ctx: Context, call: ToolCall) -> Ask | Deny | None:
        """Ask about every write, and about expensive queries.

        The tools themselves enforce what was approved.
        """
        if ctx.tool is None or ctx.tool.plugin != self.host.plugin:
            return None
        db, sql = (str(call.arguments.get(name, "")) for name in ("db", "sql"))
        if call.name == "db_write":
            return await self.write_tool.question(ctx, db, sql)
        if call.name != "db_query":
            return None
        key = (ctx.session.id, db, sql)
        self._costly.discard(key)
        cost = await self._cost(db, sql)
        if cost is None or cost <= self.config.max_cost:
            return None
        self._costly.add(key)
        limit = f"{self.config.max_cost:,.0f}"
        return Ask(
            f"this query is expensive: {db} estimates its cost at {cost:,.0f}, more than {limit}",
            sql,
        )

    async def _cost(self, db: str, sql: str) -> float | None:
        """The estimated cost of a query; None if there is none, or the query will fail anyway."""
        from .query_guard import check_query

        if db not in self.config.connections:
            return None
        limits = replace(self.limits, seconds=min(self.limits.seconds, ESTIMATE_TIMEOUT))
        try:
            location = self.location(db)
            if location.is_file:
                return None
            async with asyncio.timeout(ESTIMATE_TIMEOUT):
                return await self.run(
                    db,
                    lambda engine, stop: engine.cost(
                        check_query(location.engine, sql), limits, stop
                    ),
                )
        except (HooklineError, TimeoutError):
            return None

    async def _format_result(
        self, ctx: Context, db: str, rows: ResultRows, seconds: float
    ) -> ToolOutput:
        from .results import as_csv, markdown_table

        limit = self.config.max_shown
        count = len(rows.rows)
        detail = f"{count:,} row{'' if count == 1 else 's'}, {seconds * 1000:.0f} ms"
        if rows.more:
            detail = f"the first {detail}; the result is cut: {rows.more}. Aggregate or filter"
        notes = []
        if count > limit:
            notes.append(await self._store_csv(ctx, db, as_csv(rows), limit, count))
        text = await self._pre_read(ctx, db, f"{markdown_table(rows, limit)}\n({detail})")
        return ToolOutput(text, notes=tuple(notes))

    async def _store_csv(self, ctx: Context, db: str, text: str, limit: int, count: int) -> str:
        """Store all rows as CSV and return a note that says where."""
        keeper = self.host.services.get(ArtifactKeeper)
        if keeper is None:
            return f"{limit} of {count} rows are shown; use LIMIT and OFFSET for the rest"
        id_ = await keeper.keep(ctx, await self._pre_read(ctx, db, text))
        return f'{limit} of {count} rows are shown; all as CSV: fetch_artifact(id="{id_}")'

    async def _pre_read(self, ctx: Context, db: str, text: str) -> str:
        try:
            return await ctx.read(text, f"database {db}", kind="tool")
        except Refused as refusal:
            raise Refused(f"the result is withheld: {refusal}") from None

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """Register the check of the connections' URLs; core reports invalid entries."""
        register(Check("connections", self._check))

    def _check(self) -> CheckResult:
        wrong = []
        for name in self.config.connections:
            try:
                self.location(name)
            except HooklineError as error:
                wrong.append(f"plugins.databases.connections.{name}.url: {error}")
        if wrong:
            return CheckResult(False, "; ".join(wrong), "Correct it in config.yaml, or remove it.")
        n = len(self.config.connections)
        return CheckResult(True, f"{n} configured" if n else "no database is configured")


def _ignore_result(future: asyncio.Future[Any]) -> None:
    """Retrieve the exception of an abandoned statement, so that asyncio does not log it."""
    if not future.cancelled():
        future.exception()
