"""The plugin ``mcp``: which tools are offered, and the parts that reach the servers."""

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
    Inbound,
    Plugin,
    SearchableCorpus,
    Tool,
    ToolOutput,
    ToolServers,
    Turn,
    command,
    hookimpl,
)
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.mcp_servers import ServerSource
from hookline_hookspecs.questions import QuestionHandler

from .catalog import ApprovalCatalog, CatalogEntry
from .config import McpConfig
from .host_questions import HostQuestions
from .mcp_tools import McpTools, is_available
from .prompts import ServerPrompts
from .resources import ServerResources
from .servers import ConfiguredServers, ToolServer, load_servers
from .session_servers import SessionServers
from .tool_search import DEFAULT_RESULTS, ApprovedServer, ToolSearch

if TYPE_CHECKING:
    from .pool import ConnectionPool

DIRECT_TOKENS = 2_000
"""Tokens of schemas up to which ``discovery: auto`` offers the tools themselves."""
CHARS_PER_TOKEN = 4
"""Characters counted as one token."""


class Mcp(Plugin[McpConfig]):
    """Tools, prompts and resources of MCP servers."""

    def __init__(self, config: McpConfig, host: Host) -> None:
        super().__init__(config, host)
        self.catalog = ApprovalCatalog(host.home / "mcp" / "catalog.json")
        self._pool: ConnectionPool | None = None
        self._search = ToolSearch(host, self._register_approved, self.approved)
        self._registrar: Callable[[Tool], None] = lambda _: None
        self._offered: dict[str, CatalogEntry] = {}
        self._bridges_registered = False
        self.session_servers = SessionServers(
            self, lambda: self._configured.servers, self._offer_session_tools
        )
        self.calls = McpTools(config, host, self.catalog, lambda: self.servers, lambda: self.pool)
        self.prompts = ServerPrompts(host, self.catalog, lambda: self.servers, self.calls)
        self.resources = ServerResources(config, self.catalog, lambda: self.servers, self.calls)

    @property
    def servers(self) -> ConfiguredServers:
        """All servers: first the configured ones, then those of single sessions."""
        found = self._configured
        attached = self.session_servers.servers
        offered = self._offered_servers()
        if not attached and offered is None:
            return found
        more = offered.servers if offered is not None else {}
        problems = offered.problems if offered is not None else ()
        servers = {**more, **found.servers, **attached}
        return ConfiguredServers(servers, (*found.problems, *problems))

    def _offered_servers(self) -> ConfiguredServers | None:
        """Those that other plugins offer; None if none does."""
        services = self.host.services
        if not services.all(ServerSource):
            return None
        from .offered_servers import offered_servers

        return offered_servers(services, self.host.env, self._configured.servers)

    @cached_property
    def _configured(self) -> ConfiguredServers:
        found = load_servers(self.config, self.host.env, Path(self.host.config.workspace).resolve())
        for problem in found.problems:
            self.log.warning("%s", problem)
        return found

    @property
    def pool(self) -> ConnectionPool:
        """The connections; created at the first call."""
        if self._pool is None:
            from .pool import ConnectionPool

            self._pool = ConnectionPool(self.config, self.host, self._answer_elicitation)
        return self._pool

    async def _answer_elicitation(self, caller: Any, params: Any) -> Any:
        from .elicitation import answer_elicitation

        ctx, server = caller if caller is not None else (None, "")
        return await answer_elicitation(server, ctx, params)

    @hookimpl
    def setup(self, host: Host) -> None:
        """Provide the service ``ToolServers``, the tools as a corpus for semantic search, and what
        acts on answers about hosts."""
        host.services.provide(ToolServers, self.session_servers)
        host.services.add(SearchableCorpus, self._search)
        host.services.add(QuestionHandler, HostQuestions(host))
        if self._offered_servers() is not None:
            self._offer_more_tools()

    def _offer_more_tools(self) -> None:
        """Register the approved tools of servers that were offered after ``register_tools``."""
        try:
            found = list(self.approved())
        except HooklineError:
            return  # ``register_tools`` has logged it
        known = {tool.name for tool in self.host.tools()}
        direct = self._is_direct(found)
        more = [
            tool
            for server, entry in found
            for tool in self._tools(server, entry, deferred=not direct)
            if tool.name not in known
        ]
        for tool in more:
            self._registrar(tool)
        if any(tool.deferred for tool in more) and not self._bridges_registered:
            self._register_bridges(self._registrar)

    @hookimpl
    def on_message(self, ctx: Context, inbound: Inbound) -> Inbound | None:
        """Convert ``/mcp__SERVER__PROMPT``, and name the server as an origin of the message."""
        return self.prompts.rewrite(inbound)

    async def _complete_prompt(self, session_id: str, typed: str) -> list[tuple[str, str]]:
        return self.prompts.complete(session_id, typed)

    @command("/mcp", audience="everyone", complete=_complete_prompt)
    async def slash_mcp(self, ctx: Context, args: str) -> str:
        """List the prompts of MCP servers, or send one: /mcp SERVER__PROMPT ARGUMENTS."""
        return await self.prompts.run(ctx, args)

    def _offer_session_tools(self) -> None:
        if not self._bridges_registered:
            self._register_bridges(self._registrar)
        self._register_approved()

    @hookimpl
    async def teardown(self, host: Host) -> None:
        """Close every connection and end every server."""
        self._search.close()
        if self._pool is not None:
            await self._pool.close()

    @hookimpl
    def register_tools(self, register: Callable[[Tool], None]) -> None:
        """Register the approved tools of the catalog; no server is started."""
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
        if (reading := self.resources.tool()) is not None:
            register(reading)

    def _tools(self, server: ToolServer, entry: CatalogEntry, *, deferred: bool) -> Iterator[Tool]:
        for name, pin in entry.tools.items():
            if server.offers(name):
                yield self.calls.tool(server, name, pin, deferred=deferred)

    def _register_bridges(self, register: Callable[[Tool], None]) -> None:
        async def mcp_find(ctx: Context, query: str, limit: int = DEFAULT_RESULTS) -> ToolOutput:
            """Find tools of connected MCP servers (mail, calendars, issues, databases, …) and their
            arguments. Search before you say that you cannot do something.

            Args:
                query: a verb and a thing, in English, such as: close issue
            """
            await self.session_servers.request_approvals(ctx)
            return await self._search.find(ctx, query, limit)

        def mcp_call(tool: str, arguments: dict[str, Any]) -> None:
            """Call a tool found by mcp_find.

            Args:
                tool: its full name, mcp__SERVER__TOOL
            """

        register(Tool.from_function(mcp_find, read_only=True, origin="workspace"))
        register(Tool.from_function(mcp_call, bridge=True))
        self._bridges_registered = True

    def _register_approved(self) -> list[ApprovedServer]:
        """Return what is approved now, perhaps by another process, and register new tools."""
        found = list(self.approved())
        for server, entry in found:
            if self._offered.get(server.key) is not entry and self._bridges_registered:
                self._offered[server.key] = entry
                for tool in self._tools(server, entry, deferred=True):
                    present = {one.name: one for one in self.host.tools()}.get(tool.name)
                    if present is None or present.deferred:
                        self._registrar(tool)
        return found

    def approved(self) -> Iterator[ApprovedServer]:
        """Yield servers that are approved and have not changed since."""
        for server in self.servers:
            entry = self.catalog.entry(server)
            if entry is not None and entry.fingerprint == server.fingerprint:
                yield server, entry

    def _is_direct(self, found: Iterable[ApprovedServer]) -> bool:
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
        return characters <= DIRECT_TOKENS * CHARS_PER_TOKEN

    @hookimpl
    def start_of_turn(self, ctx: Context, turn: Turn) -> None:
        """Notify the operator, once a session, of servers that are not approved."""
        if ctx.stash.session.get("waiting") or not ctx.operator or ctx.channel != TERMINAL:
            return
        ctx.stash.session["waiting"] = True
        for server in self.servers:
            if server.sessions is not None:
                continue  # the person is asked at the first search for tools
            if self._state(server) != "approved" and is_available(ctx, server):
                ctx.notify(
                    f"MCP server {server.name} ({server.source}) is not approved. "
                    f"Run `hookline mcp approve {server.name}` to review its tools."
                )

    def _state(self, server: ToolServer) -> str:
        try:
            entry = self.catalog.entry(server)
        except HooklineError:
            return "unknown"
        if entry is None:
            return "not approved"
        if entry.fingerprint != server.fingerprint:
            return "changed since it was approved"
        return f"{len(entry.held)} tools held back" if entry.held else "approved"

    def _check_servers(self) -> CheckResult:
        try:
            self.catalog.entries()
        except HooklineError as error:
            return CheckResult(False, str(error), "Move the file away and approve again.")
        waiting = {
            server.name: state
            for server in self.servers
            if (state := self._state(server)) != "approved"
        }
        if problems := self.servers.problems:
            return CheckResult(False, "; ".join(problems), "Fix or remove the entry.")
        if waiting:
            detail = ", ".join(f"{name}: {state}" for name, state in waiting.items())
            fix = f"hookline mcp approve {next(iter(waiting))}"
            return CheckResult(True, detail, fix, hint=True)
        count = len(self.servers.servers)
        return CheckResult(True, f"{count} servers, all approved" if count else "no servers")

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        """Register a check for servers that are not approved."""
        register(Check("servers", self._check_servers))
