"""Calls of tools: what was approved is called, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import Context, Effect, Host, Refused, Tool, ToolCall, ToolError, ToolOutput
from hookline_hookspecs.channels import TERMINAL

from .asking import UNASKED
from .catalog import Catalog, Entry, Pin
from .config import McpConfig
from .names import full_name
from .servers import Configured, Server
from .wire import given

if TYPE_CHECKING:
    from .connection import Connection
    from .pool import Pool

_ADDRESS = re.compile(
    r"(?<![a-z0-9+.-])(?:[a-z][a-z0-9+.-]*://\S+|(?:[a-z0-9-]+\.)+[a-z]{2,}(?::\d+)?(?:/\S*)?)",
    re.IGNORECASE,
)
_MOST_ADDRESSES = 50


class Calls:
    """Makes the tools of the catalog, and runs them.

    ``servers`` returns who is configured; ``pool`` is asked for at the first call.
    """

    def __init__(
        self,
        config: McpConfig,
        host: Host,
        catalog: Catalog,
        servers: Callable[[], Configured],
        pool: Callable[[], Pool],
    ) -> None:
        self._config, self._host, self._catalog = config, host, catalog
        self._servers, self._pool = servers, pool

    def tool(self, server: Server, name: str, pin: Pin, **options: Any) -> Tool:
        """Return the tool by which a model reaches a pinned one."""
        known = full_name(server.name, name)

        async def run(ctx: Context, **arguments: Any) -> ToolOutput:
            return await self.run(ctx, server.name, name, arguments)

        read_only = self._config.trust_annotations and pin.reads_only
        ask = server.config.approval == "ask" and not read_only
        return Tool(
            known,
            pin.description or f"{name} of the MCP server {server.name}",
            run,
            parameters=pin.parameters,
            read_only=read_only,
            approval=f"It is a tool of the MCP server {server.name}." if ask else None,
            origin="outside",
            effects=_addresses if read_only else None,
            **options,
        )

    def state(self, ctx: Context, server: Server | None, tool: str) -> Entry:
        """Return what is approved of a server that offers ``tool``.

        Raises:
            Refused: the tool may not be called; with the command that changes that.
        """
        if server is None:
            raise Refused("its MCP server is not configured any more")
        entry = self._catalog.entry(server)
        if entry is None:
            raise Refused(f"MCP server {server.name} is not approved; {_approve(server)}")
        if entry.fingerprint != server.fingerprint:
            raise Refused(
                f"MCP server {server.name} changed since it was approved; {_approve(server)}"
            )
        if not is_here(ctx, server) and server.borrowers is not None:
            raise Refused(f"MCP server {server.name} is for another session")
        if not is_here(ctx, server):
            raise Refused(
                f"MCP server {server.name} is one of {server.source}, which counts only for a "
                "person at the terminal in that folder"
            )
        if not server.offers(tool):
            raise Refused(f"config.yaml does not offer {tool} of MCP server {server.name}")
        held = entry.held.get(tool)
        full = full_name(server.name, tool)
        if held is not None and held.why == "changed":
            raise Refused(f"tool {full} changed since it was approved; {_approve(server)}")
        if tool not in entry.tools:
            raise Refused(f"tool {full} is not approved; {_approve(server)}")
        return entry

    async def run(
        self, ctx: Context, name: str, tool: str, arguments: Mapping[str, Any]
    ) -> ToolOutput:
        """Call a tool of the server ``name``; one that only reads is called again if its server
        dies.

        Raises:
            Refused: it is not approved as it is.
            ToolError: the server cannot be reached, or answers with an error.
        """
        try:
            return await self._run(ctx, name, tool, arguments)
        except Refused:
            raise
        except ToolError as error:
            raise ToolError(await _passed(ctx, name, str(error))) from None

    async def _run(
        self, ctx: Context, name: str, tool: str, arguments: Mapping[str, Any]
    ) -> ToolOutput:
        server = self._servers().servers.get(name)
        entry = self.state(ctx, server, tool)
        assert server is not None
        pool = self._pool()
        read_only = self._config.trust_annotations and entry.tools[tool].reads_only
        for attempt in (1, 2):
            connection = await pool.connected(server, ctx.paths, (ctx, name))
            from .connection import Dead
            from .results import output

            try:
                await self._check(ctx, connection, tool)
                result = await connection.call(tool, given(arguments), (ctx, name))
            except Dead as dead:
                reason, unsent = str(dead), not dead.sent
                pool.failed(server, ctx.paths, reason)
                await pool.drop(server, ctx.paths)
                if attempt == 1 and (read_only or unsent):
                    continue
                break
            pool.succeeded(server, ctx.paths)
            notes = tuple(
                f"The server wanted to know from the person: {text}. Ask them, and call it again."
                for text in ctx.stash.pop(UNASKED, ())
            )
            return replace(await output(ctx, name, tool, result), notes=notes)
        if read_only or unsent:
            raise ToolError(f"MCP server {name} failed: {reason}")
        reason = await _passed(ctx, name, reason)
        return ToolOutput(
            f"Interrupted: MCP server {name} failed during the call: {reason}. Whether it was "
            "carried out is not known; find out before you call it again.",
            ok=False,
        )

    async def _check(self, ctx: Context, connection: Connection, tool: str) -> None:
        """Compare what the server lists with what was approved; raise if ``tool`` differs."""
        server = connection.server
        if connection.stale:
            await connection.list_again()
        entry = self._catalog.compare(server, connection.listing)
        if entry is None:
            raise Refused(f"MCP server {server.name} is not approved; {_approve(server)}")
        told = ctx.stash.session.setdefault("told", set())
        if entry.held and server.key not in told:
            told.add(server.key)
            ctx.notify(
                f"MCP server {server.name}: {len(entry.held)} of its tools are new or have "
                f"changed and cannot be called; {_shown(server)} shows them."
            )
        self.state(ctx, server, tool)
        if tool in entry.gone:
            raise Refused(f"MCP server {server.name} does not offer {tool} any more")


async def _passed(ctx: Context, name: str, reason: str) -> str:
    """Why a call failed, which may be a server's own words, if a model may read it."""
    try:
        return await ctx.read(reason, f"mcp {name}", kind="tool")
    except Refused as refusal:
        return f"MCP server {name} failed, and why is kept back: {refusal}"


def is_here(ctx: Context, server: Server) -> bool:
    """True unless the server is a workspace's own and nobody is at a terminal in it, or another
    session's own."""
    if server.borrowers is not None:
        return not server.borrowers.isdisjoint({ctx.session.id, ctx.session.parent_id or ""})
    if server.project is None:
        return True
    at_terminal = ctx.channel == TERMINAL and ctx.approval != "no"
    return at_terminal and ctx.paths.workspace.resolve() == server.project.resolve()


def _approve(server: Server) -> str:
    if server.borrowers is not None:
        return "call mcp_find, which asks the person"
    return f"run hookline mcp approve {server.name}"


def _shown(server: Server) -> str:
    lent = server.borrowers is not None
    return "the next search for tools" if lent else f"`hookline mcp approve {server.name}`"


def _addresses(ctx: Context, call: ToolCall) -> list[Effect]:
    """What a tool that only reads may reach: the addresses in its arguments."""
    found: list[str] = []
    pending: list[Any] = [call.arguments]
    while pending and len(found) < _MOST_ADDRESSES:
        value = pending.pop()
        if isinstance(value, str):
            found += _ADDRESS.findall(value)
        elif isinstance(value, Mapping):
            pending += value.values()
        elif isinstance(value, list | tuple):
            pending += value
    return [Effect("network", target) for target in found[:_MOST_ADDRESSES]]
