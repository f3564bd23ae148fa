"""Servers that a client, such as an editor, brings with a session: the service ``ToolServers``.

Nothing is reached before the model looks for a tool, and nothing that was not approved before a
person was asked. What they approve is pinned as it is for servers of config.yaml.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from hookline_hookspecs import Context, HooklineError, Question
from pydantic import ValidationError

from .approving import readable
from .calls import is_here
from .catalog import Entry, compared
from .config import ServerConfig, fault, wrong_name
from .parts import Parts
from .servers import Server, fingerprint, kept_keys, plain_name
from .wire import visible

SOURCE = "the editor"
START, USE, NO = "Start it", "Use them", "Not now"
DECLINED = "declined"
"""In a session's stash: the servers that a person does not want there."""


class Lent:
    """Keeps the servers of each session, and has a person approve them.

    Args:
        parts: the plugin.
        configured: the servers that are there for all, by name.
        offer: registers what is approved, and the two tools that find and call it.
    """

    def __init__(
        self,
        parts: Parts,
        configured: Callable[[], Mapping[str, Server]],
        offer: Callable[[], None],
    ) -> None:
        self._parts, self._configured, self._offer = parts, configured, offer
        self.servers: dict[str, Server] = {}
        """Those that some session has, by name."""

    def lend(self, session_id: str, servers: Sequence[Mapping[str, Any]]) -> list[str]:
        """Let one session use ``servers``; return sentences about those that cannot be used."""
        for known in list(self.servers.values()):
            assert known.borrowers is not None
            known.borrowers.discard(session_id)
            if not known.borrowers:
                del self.servers[known.name]
        problems: list[str] = []
        for entry in servers:
            written = visible(str(entry.get("name", "")))[:60]
            try:
                self._take(session_id, plain_name(written), entry)
            except ValidationError as error:
                at, why = fault(error, entry)
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

    def _take(self, session_id: str, name: str, entry: Mapping[str, Any]) -> None:
        if wrong := wrong_name(name):
            raise ValueError(wrong)
        config = ServerConfig.model_validate(kept_keys(entry))
        mark = fingerprint(config)
        other = self._configured().get(name)
        if other is not None:
            if other.fingerprint != mark:
                raise ValueError(f"{other.source} names another one so, which is used")
            return
        known = self.servers.get(name)
        if known is None:
            known = Server(name, f"editor#{name}", config, SOURCE, mark, borrowers=set())
            self.servers[name] = known
        if known.fingerprint != mark:
            raise ValueError("another session brings another one of that name")
        assert known.borrowers is not None
        known.borrowers.add(session_id)

    async def settle(self, ctx: Context) -> None:
        """Ask the person about the session's servers that are not approved as they are."""
        for server in self._waiting(ctx):
            if not ctx.interactive:
                return
            try:
                approved = await self._approved(ctx, server)
            except HooklineError as error:
                ctx.notify(f"MCP server {server.name} is not used: {error}")
                approved = False
            if not approved:
                ctx.stash.session.setdefault(DECLINED, set()).add(server.key)
        self._offer()

    def _waiting(self, ctx: Context) -> Iterable[Server]:
        declined = ctx.stash.session.get(DECLINED, ())
        for server in list(self.servers.values()):
            entry = self._parts.catalog.entry(server)
            settled = (
                entry is not None and entry.fingerprint == server.fingerprint and not entry.held
            )
            if is_here(ctx, server) and not settled and server.key not in declined:
                yield server

    async def _approved(self, ctx: Context, server: Server) -> bool:
        from .showing import changes, counted, what_is_reached

        parts = self._parts
        entry = parts.catalog.entry(server)
        if entry is None or entry.fingerprint != server.fingerprint:
            reached = what_is_reached(server, parts.host.env)
            question = f"Start the MCP server {server.name}, which the editor brings?"
            if await ctx.ask(Question(question, (START, NO), reached)) != START:
                return False
        connection = await parts.pool.connected(server, ctx.paths, (ctx, server.name))
        listing = connection.listing
        known = entry or Entry(server.name, server.source, "", 0.0)
        held, gone = compared(known, listing)
        passed, kept_back = await readable(parts.host, server, listing)
        shown = changes(server, known, listing, held, gone)
        question = f"Let the model use {counted(passed)} of the MCP server {server.name}?"
        if await ctx.ask(Question(question, (USE, NO), shown)) != USE:
            return False
        for tool, why in {**listing.refused, **kept_back}.items():
            ctx.notify(f"{visible(tool)[:64]} of {server.name} is not offered: {why}")
        parts.catalog.approve(server, listing, passed, parts.host.now())
        return True
