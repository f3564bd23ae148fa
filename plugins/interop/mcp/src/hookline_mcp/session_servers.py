"""Servers that a client, such as an editor, attaches to a session: the service ``ToolServers``.

No server is started before the model searches for a tool, and none without a person's approval.
Approvals are stored in the catalog like those for servers of config.yaml.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from hookline_hookspecs import Context, HooklineError, Host, Question
from pydantic import ValidationError

from .catalog import ApprovalCatalog, CatalogEntry, compare_listing
from .config import ServerConfig, explain_error, name_problem
from .mcp_tools import is_available
from .servers import ToolServer, fingerprint, known_keys, plain_name
from .tool_schema import strip_hidden
from .tool_screening import screen_tools

if TYPE_CHECKING:
    from .pool import ConnectionPool

SOURCE = "the editor"
START, USE, NO = "Start it", "Use them", "Not now"
DECLINED = "declined"
"""Key in a session's stash: the servers that the person declined."""


class McpParts(Protocol):
    """The parts of the plugin that :class:`SessionServers` uses."""

    host: Host
    catalog: ApprovalCatalog

    @property
    def pool(self) -> ConnectionPool:
        """The connections."""


class SessionServers:
    """Holds the servers of each session, and asks a person to approve them.

    Args:
        parts: the plugin.
        configured: returns the servers of all sessions, by name.
        offer: registers approved tools, and the two tools that find and call them.
    """

    def __init__(
        self,
        parts: McpParts,
        configured: Callable[[], Mapping[str, ToolServer]],
        offer: Callable[[], None],
    ) -> None:
        self._parts = parts
        self._configured = configured
        self._offer = offer
        self.servers: dict[str, ToolServer] = {}
        """The servers of all sessions, by name."""

    def attach(self, session_id: str, servers: Sequence[Mapping[str, Any]]) -> list[str]:
        """Set the servers of a session; return a sentence for each that cannot be used."""
        for known in list(self.servers.values()):
            assert known.sessions is not None
            known.sessions.discard(session_id)
            if not known.sessions:
                del self.servers[known.name]
        problems: list[str] = []
        for entry in servers:
            written = strip_hidden(str(entry.get("name", "")))[:60]
            try:
                self._attach_server(session_id, plain_name(written), entry)
            except ValidationError as error:
                at, why = explain_error(error, entry)
                why = ": ".join([*filter(None, [".".join(at)]), why])
                problems.append(f"The MCP server {written} is not used: {why}.")
            except ValueError as error:
                problems.append(f"The MCP server {written} is not used: {error}.")
        if self.servers:
            try:
                self._offer()
            except HooklineError as error:
                problems.append(str(error))
        return problems

    def _attach_server(self, session_id: str, name: str, entry: Mapping[str, Any]) -> None:
        if wrong := name_problem(name):
            raise ValueError(wrong)
        config = ServerConfig.model_validate(known_keys(entry))
        mark = fingerprint(config)
        other = self._configured().get(name)
        if other is not None:
            if other.fingerprint != mark:
                raise ValueError(f"{other.source} has a server of that name, which is used instead")
            return
        known = self.servers.get(name)
        if known is None:
            known = ToolServer(name, f"editor#{name}", config, SOURCE, mark, sessions=set())
            self.servers[name] = known
        if known.fingerprint != mark:
            raise ValueError("another session has a different server of that name")
        assert known.sessions is not None
        known.sessions.add(session_id)

    async def request_approvals(self, ctx: Context) -> None:
        """Ask the person about the session's servers that are new or changed."""
        for server in self._unapproved(ctx):
            if not ctx.interactive:
                return
            try:
                approved = await self._request_approval(ctx, server)
            except HooklineError as error:
                ctx.notify(f"MCP server {server.name} is not used: {error}")
                approved = False
            if not approved:
                ctx.stash.session.setdefault(DECLINED, set()).add(server.key)
        self._offer()

    def _unapproved(self, ctx: Context) -> Iterable[ToolServer]:
        declined = ctx.stash.session.get(DECLINED, ())
        for server in list(self.servers.values()):
            entry = self._parts.catalog.entry(server)
            approved = (
                entry is not None and entry.fingerprint == server.fingerprint and not entry.held
            )
            if is_available(ctx, server) and not approved and server.key not in declined:
                yield server

    async def _request_approval(self, ctx: Context, server: ToolServer) -> bool:
        from .approval_text import count_tools, describe_changes, describe_server

        parts = self._parts
        entry = parts.catalog.entry(server)
        if entry is None or entry.fingerprint != server.fingerprint:
            reached = describe_server(server, parts.host.env)
            question = f"Start the MCP server {server.name} of your editor?"
            if await ctx.ask(Question(question, (START, NO), reached, "trust")) != START:
                return False
        connection = await parts.pool.connect(server, ctx.paths, (ctx, server.name))
        listing = connection.listing
        known = entry or CatalogEntry(server.name, server.source, "", 0.0)
        held, gone = compare_listing(known, listing)
        passed, kept_back = await screen_tools(parts.host, server, listing)
        shown = describe_changes(server, known, listing, held, gone)
        question = f"Let the model use {count_tools(passed)} of the MCP server {server.name}?"
        if await ctx.ask(Question(question, (USE, NO), shown, "trust")) != USE:
            return False
        for tool, why in {**listing.refused, **kept_back}.items():
            ctx.notify(f"{strip_hidden(tool)[:64]} of {server.name} is not offered: {why}")
        parts.catalog.approve(server, listing, passed, parts.host.now())
        return True
