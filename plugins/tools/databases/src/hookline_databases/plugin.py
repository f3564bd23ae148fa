"""The plugin: its tools, and the way from a call to an engine and back."""

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
from typing import Any, TypeVar

from hookline_hookspecs import (
    ArtifactKeeper,
    Ask,
    Check,
    CheckResult,
    Context,
    Deny,
    Effect,
    HooklineError,
    Host,
    Plugin,
    Refused,
    ToolCall,
    ToolError,
    ToolOutput,
    hookimpl,
    tool,
)
from hookline_hookspecs.audit import note
from hookline_hookspecs.skill_folders import SkillFolder

from .config import ConnectionConfig, DatabasesConfig, Place, place_of
from .engines import engine_for
from .engines.base import Engine, Limits, Rows, Stop
from .writing import Writing

T = TypeVar("T")


def _writes(_plugin: object, _ctx: Context, call: ToolCall) -> list[Effect]:
    """What ``db_write`` does: it sends something to a database, for good."""
    return [Effect("send", f"database {call.arguments.get('db', '')}")]


WORKERS = 8
"""Statements that run at the same time."""
GRACE = 5.0
"""Seconds after its time for a statement that does not end when it is told to."""
JUDGE_SECONDS = 4.0
"""For what is found out before a person is asked; core ends the hook after five."""


class Databases(Plugin[DatabasesConfig]):
    """Asks databases."""

    def __init__(self, config: DatabasesConfig, host: Host) -> None:
        super().__init__(config, host)
        self._threads: ThreadPoolExecutor | None = None
        self._costly: set[tuple[str, str, str]] = set()
        self.writing = Writing(self)
        self.limits = Limits(
            config.timeout_seconds,
            config.lock_seconds,
            config.max_rows,
            config.max_bytes,
            config.max_cost,
        )

    @hookimpl
    async def setup(self, host: Host) -> None:
        """Bring the skills along, and find out what became of writes that a kill ended."""
        folder = Path(__file__).with_name("skills")
        host.services.add(SkillFolder, SkillFolder(folder, host.plugin))
        for name, one in self.config.connections.items():
            if one.mode == "write":
                with contextlib.suppress(HooklineError):  # a place that is none is told where asked
                    await self.writing.underway.settle(name)

    @hookimpl
    def teardown(self, host: Host) -> None:
        """Take no more statements."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)

    # The connections

    def connection(self, name: str) -> ConnectionConfig:
        """Return a configured connection. Raises ``ToolError`` with those that there are."""
        found = self.config.connections
        if name not in found:
            if why := self.left_out().get(name):
                raise ToolError(f"database {name} is left out: {why}")
            known = ", ".join(found) or "none; `hookline db add NAME` adds one"
            raise ToolError(f"there is no database {name[:40]!r}; there are: {known}")
        return found[name]

    def left_out(self) -> dict[str, str]:
        """What is wrong in config.yaml with each connection that is left out, by its name."""
        return {
            at[1]: f"config.yaml: plugins.databases.{'.'.join(at)}: {why}"
            for at, why in self.config.left_out.items()
        }

    def place(self, name: str) -> Place:
        """Return where a connection leads, without its password."""
        return place_of(self._url(name), name)

    def engine(self, name: str) -> Engine:
        """Return the engine of a connection. Raises ``Refused`` and ``ToolError``."""
        workspace = Path(self.host.config.workspace).expanduser().resolve()
        return engine_for(
            self.place(name), self._url(name), home=self.host.home, workspace=workspace
        )

    def _url(self, name: str) -> str:
        return self.connection(name).url.get_secret_value()

    async def run(self, name: str, work: Callable[[Engine, Stop], T]) -> T:
        """Run blocking work on a connection's engine in a thread, for its time and no longer."""
        if self._threads is None:
            self._threads = ThreadPoolExecutor(WORKERS, "hookline-db")
        stop = Stop()

        def whole() -> T:
            return work(self.engine(name), stop)

        future = asyncio.get_running_loop().run_in_executor(self._threads, whole)
        try:
            async with asyncio.timeout(self.limits.seconds + self.limits.lock_seconds + GRACE):
                return await asyncio.shield(future)
        except TimeoutError:
            raise ToolError(f"{name} did not answer within {self.limits.seconds:g} s") from None
        finally:
            if not future.done():
                stop.now()
                future.add_done_callback(_forgotten)

    # The tools

    @tool(read_only=True, origin="workspace")
    def db_list(self) -> str:
        """List the configured databases: name, engine, mode, place."""
        lines = []
        for name, one in self.config.connections.items():
            try:
                place = self.place(name)
                lines.append(f"{name}: {place.engine}, {one.mode}, {place.shown}")
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
        from .results import schema

        told: dict[str, Any] = {"tool": "db_schema", "like": like or ""}
        try:
            tables = await self.run(db, lambda engine, stop: engine.tables(self.limits, stop))
        except HooklineError as error:
            verdict = "denied" if isinstance(error, Refused) else "failed"
            note(self.host, "sql", db, verdict, ctx=ctx, detail={**told, "reason": str(error)})
            raise
        if like:
            pattern = like.replace("%", "*").lower()
            pattern = pattern if "*" in pattern else f"*{pattern}*"
            tables = [one for one in tables if fnmatch.fnmatchcase(one.name.lower(), pattern)]
        note(self.host, "sql", db, "ran", ctx=ctx, detail={**told, "rows": len(tables)})
        return await self._passed(ctx, db, schema(tables, like or ""))

    @tool(read_only=True, origin="outside")
    async def db_query(self, ctx: Context, db: str, sql: str) -> ToolOutput:
        """Run one SQL query that only reads.

        Args:
            db: a name from db_list
        """
        began = time.perf_counter()
        rows = await self._answered(ctx, db, sql, explain=False)
        return await self._shown(ctx, db, rows, time.perf_counter() - began)

    @tool(read_only=True, origin="outside")
    async def db_explain(self, ctx: Context, db: str, sql: str) -> ToolOutput:
        """Show the plan of a query without running it."""
        rows = await self._answered(ctx, db, sql, explain=True)
        text = "\n".join(" ".join(map(str, row)) for row in rows.rows)
        return ToolOutput(await self._passed(ctx, db, text))

    @tool(origin="outside", effects=_writes)
    async def db_write(self, ctx: Context, db: str, sql: str) -> ToolOutput:
        """Change a database by one SQL statement. It is tried first and rolled back, and a person
        sees what it would change.

        Args:
            db: a name from db_list whose mode is write
        """
        return await self.writing.write(ctx, db, sql)

    async def _answered(self, ctx: Context, db: str, sql: str, *, explain: bool) -> Rows:
        from .guard import judge

        place = self.place(db)
        key = (ctx.session.id, db, sql)
        limits = replace(self.limits, cost=math.inf) if key in self._costly else self.limits
        if not explain:
            self._costly.discard(key)

        def work(engine: Engine, stop: Stop) -> Rows:
            statement = judge(place.engine, sql)
            ask = engine.explain if explain else engine.query
            return ask(statement, limits, stop)

        told: dict[str, Any] = {"sql": sql, "tool": "db_explain" if explain else "db_query"}
        try:
            rows = await self.run(db, work)
        except HooklineError as error:
            verdict = "denied" if isinstance(error, Refused) else "failed"
            note(self.host, "sql", db, verdict, ctx=ctx, detail={**told, "reason": str(error)})
            raise
        note(self.host, "sql", db, "ran", ctx=ctx, detail={**told, "rows": len(rows.rows)})
        return rows

    @hookimpl
    async def pre_tool(self, ctx: Context, call: ToolCall) -> Ask | Deny | None:
        """Ask about every write, and about a query that costs the database much.

        What it finds is only the question: a tool itself does no more than was asked about.
        """
        if ctx.tool is None or ctx.tool.plugin != self.host.plugin:
            return None
        db, sql = (str(call.arguments.get(name, "")) for name in ("db", "sql"))
        if call.name == "db_write":
            return await self.writing.question(ctx, db, sql)
        if call.name != "db_query":
            return None
        key = (ctx.session.id, db, sql)
        self._costly.discard(key)
        cost = await self._cost(db, sql)
        if cost is None or cost <= self.config.max_cost:
            return None
        self._costly.add(key)
        most = f"{self.config.max_cost:,.0f}"
        return Ask(
            f"this query is expensive: {db} estimates its cost at {cost:,.0f}, more than {most}",
            sql,
        )

    async def _cost(self, db: str, sql: str) -> float | None:
        """The estimate for a query; None where there is none, or it will not be run anyway."""
        from .guard import judge

        if db not in self.config.connections:
            return None
        limits = replace(self.limits, seconds=min(self.limits.seconds, JUDGE_SECONDS))
        try:
            place = self.place(db)
            if place.is_file:
                return None
            async with asyncio.timeout(JUDGE_SECONDS):
                return await self.run(
                    db, lambda engine, stop: engine.cost(judge(place.engine, sql), limits, stop)
                )
        except (HooklineError, TimeoutError):
            return None

    async def _shown(self, ctx: Context, db: str, rows: Rows, seconds: float) -> ToolOutput:
        from .results import as_csv, markdown

        most = self.config.max_shown
        count = len(rows.rows)
        told = f"{count:,} row{'' if count == 1 else 's'}, {seconds * 1000:.0f} ms"
        if rows.more:
            told = f"the first {told}; the result is cut: {rows.more}. Aggregate, or narrow it down"
        notes = []
        if count > most:
            notes.append(await self._kept(ctx, db, as_csv(rows), most, count))
        text = await self._passed(ctx, db, f"{markdown(rows, most)}\n({told})")
        return ToolOutput(text, notes=tuple(notes))

    async def _kept(self, ctx: Context, db: str, text: str, most: int, count: int) -> str:
        """Keep all rows as CSV; the note that says where."""
        keeper = self.host.services.get(ArtifactKeeper)
        if keeper is None:
            return f"{most} of {count} rows are shown; use LIMIT and OFFSET for the others"
        id_ = await keeper.keep(ctx, await self._passed(ctx, db, text))
        return f'{most} of {count} rows are shown; all as CSV: fetch_artifact(id="{id_}")'

    async def _passed(self, ctx: Context, db: str, text: str) -> str:
        try:
            return await ctx.read(text, f"database {db}", kind="tool")
        except Refused as refusal:
            raise Refused(f"the result is kept back: {refusal}") from None

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """Say which connections lead nowhere; core says which are left out."""
        register(Check("connections", self._checked))

    def _checked(self) -> CheckResult:
        wrong = []
        for name in self.config.connections:
            try:
                self.place(name)
            except HooklineError as error:
                wrong.append(f"plugins.databases.connections.{name}.url: {error}")
        if wrong:
            return CheckResult(False, "; ".join(wrong), "mend it in config.yaml, or take it out")
        count = len(self.config.connections)
        return CheckResult(True, f"{count} can be asked" if count else "no database is configured")


def _forgotten(future: asyncio.Future[Any]) -> None:
    """Whatever a statement that nobody waits for any more ends with."""
    if not future.cancelled():
        future.exception()
