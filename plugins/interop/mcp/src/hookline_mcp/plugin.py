"""The plugin: which tools are offered, and the parts that reach the servers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import (
    Check,
    CheckResult,
    Context,
    HooklineError,
    Host,
    Plugin,
    SearchableCorpus,
    Tool,
    ToolOutput,
    ToolServers,
    Turn,
    hookimpl,
)
from hookline_hookspecs.channels import TERMINAL

from .bridge import LIMIT, Finder, Found
from .calls import Calls, is_here
from .catalog import Catalog, Entry
from .config import McpConfig
from .lent import Lent
from .servers import Configured, Server, configured

if TYPE_CHECKING:
    from .pool import Pool

DIRECT_TOKENS = 2_000
"""Tokens of schemas up to which ``discovery: auto`` offers the tools themselves."""
CHARS = 4
"""Characters counted as one token (CONTRACT, Tools the model sees)."""


class Mcp(Plugin[McpConfig]):
    """Tools of MCP servers."""

    def __init__(self, config: McpConfig, host: Host) -> None:
        super().__init__(config, host)
        self.catalog = Catalog(host.home / "mcp" / "catalog.json")
        self._pool: Pool | None = None
        self._finder = Finder(host, self._known, self.approved)
        self._registrar: Callable[[Tool], None] = lambda _: None
        self._offered: dict[str, Entry] = {}
        self._bridged = False
        self.lent = Lent(self, lambda: self._configured.servers, self._offer_lent)
        self.calls = Calls(config, host, self.catalog, lambda: self.servers, lambda: self.pool)

    @property
    def servers(self) -> Configured:
        """Every server that this process knows of, those of single sessions last."""
        found, lent = self._configured, self.lent.servers
        return Configured({**found.servers, **lent}, found.problems) if lent else found

    @cached_property
    def _configured(self) -> Configured:
        found = configured(self.config, self.host.env, Path(self.host.config.workspace).resolve())
        for problem in found.problems:
            self.log.warning("%s", problem)
        return found

    @property
    def pool(self) -> Pool:
        """The connections; made at the first call."""
        if self._pool is None:
            from .pool import Pool

            self._pool = Pool(self.config, self.host, self._elicited)
        return self._pool

    async def _elicited(self, caller: Any, params: Any) -> Any:
        from .asking import elicited

        ctx, server = caller if caller is not None else (None, "")
        return await elicited(server, ctx, params)

    @hookimpl
    def setup(self, host: Host) -> None:
        """Take the servers that clients bring with a session; let tools be compared by meaning."""
        host.services.provide(ToolServers, self.lent)
        host.services.add(SearchableCorpus, self._finder)

    def _offer_lent(self) -> None:
        if not self._bridged:
            self._register_bridges(self._registrar)
        self._known()

    @hookimpl
    async def teardown(self, host: Host) -> None:
        """Close every connection and end every server."""
        self._finder.close()
        if self._pool is not None:
            await self._pool.close()

    # What is offered

    @hookimpl
    def register_tools(self, register: Callable[[Tool], None]) -> None:
        """Register what the catalog holds; nothing is connected to."""
        self._registrar = register
        try:
            found = list(self.approved())
        except HooklineError as error:
            self.log.warning("%s", error)
            return
        direct = self._is_direct(found)
        deferred = False
        for server, entry in found:
            at_once = direct and server.project is None
            for tool in self._tools(server, entry, deferred=not at_once):
                register(tool)
                deferred |= not at_once
        if deferred or self.config.discovery == "search":
            self._register_bridges(register)

    def _tools(self, server: Server, entry: Entry, *, deferred: bool) -> Iterator[Tool]:
        for name, pin in entry.tools.items():
            if server.offers(name):
                yield self.calls.tool(server, name, pin, deferred=deferred)

    def _register_bridges(self, register: Callable[[Tool], None]) -> None:
        async def mcp_find(ctx: Context, query: str, limit: int = LIMIT) -> ToolOutput:
            """Find tools of connected MCP servers (mail, calendars, issues, databases, …) and the
            arguments that they take. Search before you say that you cannot do something.

            Args:
                query: a verb and a thing, in English, such as: close issue
            """
            await self.lent.settle(ctx)
            return await self._finder.find(ctx, query, limit)

        def mcp_call(tool: str, arguments: dict[str, Any]) -> None:
            """Call a tool that mcp_find has found.

            Args:
                tool: its full name, mcp__SERVER__TOOL
            """

        register(Tool.from_function(mcp_find, read_only=True, origin="workspace"))
        register(Tool.from_function(mcp_call, bridge=True))
        self._bridged = True

    def _known(self) -> list[Found]:
        """What is approved now, perhaps by another process; new tools can be called at once."""
        found = list(self.approved())
        for server, entry in found:
            if self._offered.get(server.key) is not entry and self._bridged:
                self._offered[server.key] = entry
                for tool in self._tools(server, entry, deferred=True):
                    present = {one.name: one for one in self.host.tools()}.get(tool.name)
                    if present is None or present.deferred:
                        self._registrar(tool)
        return found

    def approved(self) -> Iterator[Found]:
        """Yield the servers that are approved as they are configured now."""
        for server in self.servers:
            entry = self.catalog.entry(server)
            if entry is not None and entry.fingerprint == server.fingerprint:
                yield server, entry

    def _is_direct(self, found: Iterable[Found]) -> bool:
        if self.config.discovery != "auto":
            return self.config.discovery == "direct"
        characters = sum(
            len(name)
            + len(pin.description)
            + len(json.dumps(pin.parameters, separators=(",", ":")))
            for server, entry in found
            if server.project is None
            for name, pin in entry.tools.items()
            if server.offers(name)
        )
        return characters <= DIRECT_TOKENS * CHARS

    @hookimpl
    def start_of_turn(self, ctx: Context, turn: Turn) -> None:
        """Tell the operator, once a session, which servers wait for approval."""
        if ctx.stash.session.get("waiting") or not ctx.operator or ctx.channel != TERMINAL:
            return
        ctx.stash.session["waiting"] = True
        for server in self.servers:
            if server.borrowers is not None:
                continue  # the person is asked when its tools are looked for
            if self._state(server) != "approved" and is_here(ctx, server):
                ctx.notify(
                    f"The tools of MCP server {server.name} ({server.source}) are not offered; "
                    f"`hookline mcp approve {server.name}` shows them."
                )

    def _state(self, server: Server) -> str:
        try:
            entry = self.catalog.entry(server)
        except HooklineError:
            return "unknown"
        if entry is None:
            return "not approved"
        if entry.fingerprint != server.fingerprint:
            return "changed since it was approved"
        return f"{len(entry.held)} tools held back" if entry.held else "approved"

    def _checked(self) -> CheckResult:
        try:
            self.catalog.entries()
        except HooklineError as error:
            return CheckResult(False, str(error), "Move the file away and approve anew.")
        waiting = {
            server.name: state
            for server in self.servers
            if (state := self._state(server)) != "approved"
        }
        if problems := self.servers.problems:
            return CheckResult(False, "; ".join(problems), "Mend the file, or take it out.")
        if waiting:
            told = ", ".join(f"{name}: {state}" for name, state in waiting.items())
            fix = f"hookline mcp approve {next(iter(waiting))}"
            return CheckResult(True, told, fix, hint=True)
        count = len(self.servers.servers)
        return CheckResult(True, f"{count} servers, all approved" if count else "no servers")

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """Say which servers wait for approval."""
        register(Check("servers", self._checked))
