"""Creates the tools of approved servers, checks each call against the catalog, and runs it."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import Context, Effect, Host, Refused, Tool, ToolCall, ToolError, ToolOutput
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.guessed_sinks import guess_sinks

from .catalog import ApprovalCatalog, CatalogEntry, PinnedTool
from .config import McpConfig
from .elicitation import UNANSWERED
from .names import full_name
from .schema_folding import own_arguments
from .servers import ConfiguredServers, ServerGone, ToolServer
from .tool_schema import input_schema

if TYPE_CHECKING:
    from .connection import Connection
    from .pool import ConnectionPool

_ADDRESS = re.compile(
    r"(?<![a-z0-9+.-])(?:[a-z][a-z0-9+.-]*://\S+|(?:[a-z0-9-]+\.)+[a-z]{2,}(?::\d+)?(?:/\S*)?)",
    re.IGNORECASE,
)
MAX_ADDRESSES = 50


class McpTools:
    """Creates the tools of the catalog, and calls them.

    ``servers`` returns the configured servers; ``pool`` is called at the first call.
    """

    def __init__(
        self,
        config: McpConfig,
        host: Host,
        catalog: ApprovalCatalog,
        servers: Callable[[], ConfiguredServers],
        pool: Callable[[], ConnectionPool],
    ) -> None:
        self._config = config
        self._host = host
        self._catalog = catalog
        self._servers = servers
        self._pool = pool

    def tool(self, server: ToolServer, name: str, pin: PinnedTool, **options: Any) -> Tool:
        """Return the tool that the model sees for a pinned one."""
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
            approval=f"This is a tool of the MCP server {server.name}." if ask else None,
            origin="outside",
            effects=find_addresses if read_only else None,
            sinks={} if read_only else guess_sinks(pin.parameters),
            **options,
        )

    def require_approved(self, ctx: Context, server: ToolServer | None, tool: str) -> CatalogEntry:
        """Return the catalog entry of a server whose ``tool`` may be called.

        Raises:
            Refused: it may not be called; the text has the command that approves it.
        """
        entry = self.require_available(ctx, server)
        assert server is not None
        if not server.offers(tool):
            raise Refused(f"config.yaml does not offer {tool} of MCP server {server.name}")
        held = entry.held.get(tool)
        full = full_name(server.name, tool)
        if held is not None and held.why == "changed":
            raise Refused(f"tool {full} changed since it was approved; {_approve(server)}")
        if tool not in entry.tools:
            raise Refused(f"tool {full} is not approved; {_approve(server)}")
        return entry

    def require_available(self, ctx: Context, server: ToolServer | None) -> CatalogEntry:
        """Return the catalog entry of a server that this session may use.

        Raises:
            Refused: it may not; the text has the command that approves it.
        """
        if server is None:
            raise Refused("its MCP server is no longer configured")
        entry = self._catalog.entry(server)
        if entry is None:
            raise Refused(f"MCP server {server.name} is not approved; {_approve(server)}")
        if entry.fingerprint != server.fingerprint:
            raise Refused(
                f"MCP server {server.name} changed since it was approved; {_approve(server)}"
            )
        if not is_available(ctx, server) and server.sessions is not None:
            raise Refused(f"MCP server {server.name} belongs to another session")
        if not is_available(ctx, server):
            raise Refused(
                f"MCP server {server.name} of {server.source} can be used only by a person at the "
                "terminal in that folder"
            )
        return entry

    async def run(
        self, ctx: Context, name: str, tool: str, arguments: Mapping[str, Any]
    ) -> ToolOutput:
        """Call a tool of the server ``name``. A call that only reads is repeated once if the server
        exits.

        Raises:
            Refused: the tool is not approved in its current form.
            ToolError: the server cannot be reached, or answers with an error.
        """
        server = self._servers().servers.get(name)
        entry = self.require_approved(ctx, server, tool)
        assert server is not None
        read_only = self._config.trust_annotations and entry.tools[tool].reads_only

        async def call(connection: Connection) -> Any:
            await self._check(ctx, connection, tool)
            schema = input_schema(connection.listing.tools[tool])
            return await connection.call(tool, own_arguments(arguments, schema), (ctx, name))

        try:
            result = await self.request(ctx, server, call, repeat=read_only)
        except ServerGone as gone:
            reason = await _screen_reason(ctx, name, str(gone))
            return ToolOutput(
                f"Interrupted: MCP server {name} failed during the call: {reason}. The call may "
                "have been executed; find out before you repeat it.",
                ok=False,
            )
        from .results import to_tool_output

        notes = tuple(
            f"The server needs an answer from the person: {text}. Ask them, then call it again."
            for text in ctx.stash.pop(UNANSWERED, ())
        )
        return replace(await to_tool_output(ctx, name, tool, result), notes=notes)

    async def request(
        self,
        ctx: Context,
        server: ToolServer,
        send: Callable[[Connection], Awaitable[Any]],
        *,
        repeat: bool = True,
    ) -> Any:
        """Return what ``send`` returns for the server's connection.

        It is called once more if the server exits, and ``repeat`` or the request was not sent.

        Raises:
            Refused: raised by ``send``, or a guard refuses the text of an error.
            ToolError: the server cannot be reached, exits, or answers with an error.
            ServerGone: it exited, and ``repeat`` is False; the request may have been executed.
        """
        try:
            return await self._request(ctx, server, send, repeat)
        except Refused:
            raise
        except ToolError as error:
            raise ToolError(await _screen_reason(ctx, server.name, str(error))) from None

    async def _request(
        self,
        ctx: Context,
        server: ToolServer,
        send: Callable[[Connection], Awaitable[Any]],
        repeat: bool,
    ) -> Any:
        pool = self._pool()
        attempts = 0
        while True:
            attempts += 1
            connection = await pool.connect(server, ctx.paths, (ctx, server.name))
            try:
                result = await send(connection)
            except ServerGone as gone:
                pool.record_failure(server, ctx.paths, str(gone))
                await pool.drop(server, ctx.paths)
                may_repeat = repeat or not gone.sent
                if attempts == 1 and may_repeat:
                    continue
                if may_repeat:
                    raise ToolError(f"MCP server {server.name} failed: {gone}") from None
                raise
            pool.record_success(server, ctx.paths)
            return result

    async def check_listing(self, connection: Connection) -> CatalogEntry:
        """Compare the server's listing with the catalog. Raises ``Refused`` if it has no entry."""
        server = connection.server
        if connection.stale:
            await connection.list_again()
        entry = self._catalog.compare(server, connection.listing)
        if entry is None:
            raise Refused(f"MCP server {server.name} is not approved; {_approve(server)}")
        return entry

    async def _check(self, ctx: Context, connection: Connection, tool: str) -> None:
        """Compare the server's listing with the catalog. Raises ``Refused`` if ``tool`` differs."""
        server = connection.server
        entry = await self.check_listing(connection)
        notified = ctx.stash.session.setdefault("notified", set())
        if entry.held and server.key not in notified:
            notified.add(server.key)
            ctx.notify(
                f"MCP server {server.name}: {len(entry.held)} new or changed tools cannot be "
                f"called until they are approved; {_where_shown(server)} shows them."
            )
        self.require_approved(ctx, server, tool)
        if tool in entry.gone:
            raise Refused(f"MCP server {server.name} no longer offers {tool}")


async def _screen_reason(ctx: Context, name: str, reason: str) -> str:
    """Pass the reason of a failure, which may quote the server, through ``pre_read``."""
    try:
        return await ctx.read(reason, f"mcp {name}", kind="tool")
    except Refused as refusal:
        return f"MCP server {name} failed; its error was withheld: {refusal}"


def is_available(ctx: Context, server: ToolServer) -> bool:
    """True if this session may use the server.

    A server of a ``.mcp.json`` is only for a person at the terminal in that workspace; one that a
    client attached is only for its sessions and their sub-agents.
    """
    if server.sessions is not None:
        return not server.sessions.isdisjoint({ctx.session.id, ctx.session.parent_id or ""})
    if server.project is None:
        return True
    at_terminal = ctx.channel == TERMINAL and ctx.approval != "no"
    return at_terminal and ctx.paths.workspace.resolve() == server.project.resolve()


def _approve(server: ToolServer) -> str:
    if server.sessions is not None:
        return "call mcp_find, which asks the person"
    return f"run hookline mcp approve {server.name}"


def _where_shown(server: ToolServer) -> str:
    if server.sessions is not None:
        return "the next search for tools"
    return f"`hookline mcp approve {server.name}`"


def find_addresses(ctx: Context, call: ToolCall) -> list[Effect]:
    """The network effects of a read-only tool: the addresses in its arguments."""
    found: list[str] = []
    pending: list[Any] = [call.arguments]
    while pending and len(found) < MAX_ADDRESSES:
        value = pending.pop()
        if isinstance(value, str):
            found += _ADDRESS.findall(value)
        elif isinstance(value, Mapping):
            pending += value.values()
        elif isinstance(value, list | tuple):
            pending += value
    return [Effect("network", target) for target in found[:MAX_ADDRESSES]]
