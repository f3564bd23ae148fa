"""``mcp_find``: finds tools that are not offered directly, by their purpose."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from hookline_hookspecs import Context, HooklineError, Host, SemanticIndex, ToolOutput, fuse

from .catalog import CatalogEntry
from .mcp_tools import is_available
from .names import full_name
from .search_index import MAX_RESULTS, ToolDocument, ToolIndex, embedding_text
from .servers import ToolServer

DEFAULT_RESULTS = 5
"""Tools that a search returns by default."""
MAX_INSTRUCTIONS_CHARS = 1_000
"""Characters of a server's instructions shown to the model."""
MAX_FUSED = 10
"""How many results each of the two rankings, by words and by meaning, contributes."""
ApprovedServer = tuple[ToolServer, CatalogEntry]


class ToolSearch:
    """Searches approved tools. The index is built at the first search, and again when the catalog
    has changed."""

    name = "tools"
    """Name of the corpus for semantic search."""

    def __init__(
        self,
        host: Host,
        offered: Callable[[], Iterable[ApprovedServer]],
        approved: Callable[[], Iterable[ApprovedServer]],
    ) -> None:
        """``offered`` registers approved tools and returns them; ``approved`` only returns them."""
        self._host = host
        self._offered = offered
        self._approved = approved
        self._index: ToolIndex | None = None
        self._index_key: object = None

    async def find(self, ctx: Context, query: str, limit: int) -> ToolOutput:
        """Return the schemas of matching tools, one JSON object per line."""
        here = {
            full_name(server.name, tool): (server, entry, tool)
            for server, entry in self._offered()
            if is_available(ctx, server)
            for tool in entry.tools
            if tool not in entry.held and server.offers(tool)
        }
        fitting = await self._match(here, query, max(1, min(limit, MAX_RESULTS)))
        shown: list[dict[str, Any]] = []
        for name in fitting:
            server, entry, tool = here[name]
            pin = entry.tools[tool]
            row = {"tool": name, "description": pin.description, "parameters": pin.parameters}
            if (text := await self._screen_row(ctx, server, row)) is not None:
                shown.append(text)
        if not shown:
            servers = sorted({server.name for server, _, _ in here.values()})
            available = f" Servers: {', '.join(servers)}." if servers else ""
            return ToolOutput(f"No tool matches. Try other words, or do without.{available}")
        about = await self._instructions(ctx, [here[row["tool"]][:2] for row in shown])
        rows = [json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in shown]
        return ToolOutput("\n".join([*rows, *about]), data=shown)

    async def entries(self) -> list[tuple[str, str, str]]:
        """Return every approved tool, for semantic search."""
        return [
            (full_name(server.name, name), "", embedding_text(server.name, name, pin.description))
            for server, entry in self._approved()
            for name, pin in entry.tools.items()
            if name not in entry.held and server.offers(name)
        ]

    def close(self) -> None:
        """Free the index; the next search builds a new one."""
        if self._index is not None:
            self._index.close()
            self._index = None

    async def _match(self, here: dict[str, Any], query: str, limit: int) -> list[str]:
        """The names of matching tools: by words, and by meaning if a plugin provides that."""
        found = self._search(here, query, MAX_RESULTS)
        semantic = self._host.services.get(SemanticIndex)
        if semantic is None or query.strip() in here:
            return found[:limit]
        near = await semantic.nearest(self.name, query, limit=MAX_FUSED)
        alike = (name for name in near if name in here)
        return fuse(found[:MAX_FUSED], alike)[:limit] if near else found[:limit]

    def _search(self, here: dict[str, Any], query: str, limit: int) -> list[str]:
        index_key = [(name, entry.tools[tool].sha256) for name, (_, entry, tool) in here.items()]
        if self._index is None or self._index_key != index_key:
            self.close()
            self._index = ToolIndex(
                ToolDocument(name, server.name, tool, pin.description, pin.parameters)
                for name, (server, entry, tool) in here.items()
                for pin in (entry.tools[tool],)
            )
            self._index_key = index_key
            semantic = self._host.services.get(SemanticIndex)
            if semantic is not None:
                semantic.changed(self.name)
        if query.strip() in here:
            return [query.strip()]
        return self._index.find(query, limit)

    async def _screen_row(
        self, ctx: Context, server: ToolServer, row: dict[str, Any]
    ) -> dict[str, Any] | None:
        """The row as ``pre_read`` passed it; None if it was refused."""
        try:
            text = await ctx.read(json.dumps(row, ensure_ascii=False), f"mcp {server.name}", "mcp")
            passed: dict[str, Any] = json.loads(text)
        except (HooklineError, ValueError):
            return None
        return passed

    async def _instructions(self, ctx: Context, found: Iterable[ApprovedServer]) -> list[str]:
        """The instructions of servers, each once a session."""
        seen: set[str] = ctx.stash.session.setdefault("instructed", set())
        lines: list[str] = []
        for server, entry in found:
            if not entry.instructions or server.key in seen:
                continue
            seen.add(server.key)
            text = entry.instructions[:MAX_INSTRUCTIONS_CHARS]
            try:
                text = await ctx.read(text, f"mcp {server.name}", "mcp")
            except HooklineError:
                continue
            lines.append(f"About {server.name}: {' '.join(text.split())}")
        return lines
