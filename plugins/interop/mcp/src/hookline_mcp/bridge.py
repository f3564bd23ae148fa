"""``mcp_find``: the tools that are not offered directly, found by what they are for."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from hookline_hookspecs import Context, HooklineError, Host, SemanticIndex, ToolOutput, fuse

from .calls import is_here
from .catalog import Entry
from .finding import MOST, Document, Index, meaning
from .names import full_name
from .servers import Server

LIMIT = 5
"""Tools that a search returns where the model says nothing."""
LONGEST_INSTRUCTIONS = 1_000
"""Characters of a server's instructions that a model reads."""
ALIKE = 10
"""Of both rankings, by words and by meaning, so many take part."""
Found = tuple[Server, Entry]


class Finder:
    """Searches what ``offered`` returns; the index is made at the first search, and again when
    the catalog has changed."""

    name = "tools"
    """The corpus, where texts are compared by meaning."""

    def __init__(
        self,
        host: Host,
        offered: Callable[[], Iterable[Found]],
        approved: Callable[[], Iterable[Found]],
    ) -> None:
        """``offered`` makes what is approved callable; ``approved`` only looks."""
        self._host = host
        self._offered = offered
        self._approved = approved
        self._index: Index | None = None
        self._of: object = None

    async def find(self, ctx: Context, query: str, limit: int) -> ToolOutput:
        """Return the schemas of the tools that fit, as a JSON array."""
        here = {
            full_name(server.name, tool): (server, entry, tool)
            for server, entry in self._offered()
            if is_here(ctx, server)
            for tool in entry.tools
            if tool not in entry.held and server.offers(tool)
        }
        fitting = await self._fitting(here, query, max(1, min(limit, MOST)))
        shown: list[dict[str, Any]] = []
        for name in fitting:
            server, entry, tool = here[name]
            pin = entry.tools[tool]
            row = {"tool": name, "description": pin.description, "parameters": pin.parameters}
            if (text := await self._passed(ctx, server, row)) is not None:
                shown.append(text)
        if not shown:
            servers = sorted({server.name for server, _, _ in here.values()})
            there = f" There are servers for: {', '.join(servers)}." if servers else ""
            return ToolOutput(f"No tool fits. Say it in other words, or do without.{there}")
        told = await self._instructions(ctx, [here[row["tool"]][:2] for row in shown])
        rows = [json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in shown]
        return ToolOutput("\n".join([*rows, *told]), data=shown)

    async def entries(self) -> list[tuple[str, str, str]]:
        """Every approved tool, for a search by meaning."""
        return [
            (full_name(server.name, name), "", meaning(server.name, name, pin.description))
            for server, entry in self._approved()
            for name, pin in entry.tools.items()
            if name not in entry.held and server.offers(name)
        ]

    def close(self) -> None:
        """Free the index; the next search makes another."""
        if self._index is not None:
            self._index.close()
            self._index = None

    async def _fitting(self, here: dict[str, Any], query: str, limit: int) -> list[str]:
        """The tools that fit, by words and by meaning where a plugin can tell."""
        found = self._search(here, query, MOST)
        likeness = self._host.services.get(SemanticIndex)
        if likeness is None or query.strip() in here:
            return found[:limit]
        near = await likeness.nearest(self.name, query, limit=ALIKE)
        alike = (name for name in near if name in here)
        return fuse(found[:ALIKE], alike)[:limit] if near else found[:limit]

    def _search(self, here: dict[str, Any], query: str, limit: int) -> list[str]:
        mark = [(name, entry.tools[tool].sha256) for name, (_, entry, tool) in here.items()]
        if self._index is None or self._of != mark:
            self.close()
            self._index = Index(
                Document(name, server.name, tool, pin.description, pin.parameters)
                for name, (server, entry, tool) in here.items()
                for pin in (entry.tools[tool],)
            )
            self._of = mark
            likeness = self._host.services.get(SemanticIndex)
            if likeness is not None:
                likeness.changed(self.name)
        if query.strip() in here:
            return [query.strip()]
        return self._index.find(query, limit)

    async def _passed(
        self, ctx: Context, server: Server, row: dict[str, Any]
    ) -> dict[str, Any] | None:
        """What the guards let a model read of it; None if nothing."""
        try:
            text = await ctx.read(json.dumps(row, ensure_ascii=False), f"mcp {server.name}", "mcp")
            passed: dict[str, Any] = json.loads(text)
        except (HooklineError, ValueError):
            return None
        return passed

    async def _instructions(self, ctx: Context, found: Iterable[Found]) -> list[str]:
        """What the servers say about themselves, each once a session."""
        told: set[str] = ctx.stash.session.setdefault("instructed", set())
        lines: list[str] = []
        for server, entry in found:
            if not entry.instructions or server.key in told:
                continue
            told.add(server.key)
            text = entry.instructions[:LONGEST_INSTRUCTIONS]
            try:
                text = await ctx.read(text, f"mcp {server.name}", "mcp")
            except HooklineError:
                continue
            lines.append(f"About {server.name}: {' '.join(text.split())}")
        return lines
