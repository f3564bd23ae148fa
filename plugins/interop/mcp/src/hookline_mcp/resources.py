"""``mcp_resource``: lists and reads the resources of servers.

The tool is offered only if an approved server has resources, so that its schema costs nothing
otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import Context, ImageBlock, Origin, Refused, Tool, ToolOutput

from .catalog import ApprovalCatalog, CatalogEntry
from .config import McpConfig
from .mcp_tools import McpTools, find_addresses, is_available
from .servers import ConfiguredServers, ToolServer
from .tool_schema import strip_hidden

if TYPE_CHECKING:
    from .connection import Connection

MAX_LISTED = 100
"""Resources and templates in one answer."""
MAX_LINE_CHARS = 300
MAX_TEXT_CHARS = 1_000_000
"""Characters of one resource; the rest is left out. Core stores a long text and pages it."""
IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


class ServerResources:
    """Makes the tool and answers its calls."""

    def __init__(
        self,
        config: McpConfig,
        catalog: ApprovalCatalog,
        servers: Callable[[], ConfiguredServers],
        calls: McpTools,
    ) -> None:
        self._config = config
        self._catalog = catalog
        self._servers = servers
        self._calls = calls

    def tool(self) -> Tool | None:
        """Return the tool; None if no approved server has resources.

        It needs approval like the servers' tools: unless all these servers have
        ``approval: never``, or ``trust_annotations`` believes that reading only reads.
        """
        found = [server for server, _ in self._with_resources()]
        if not found:
            return None
        read_only = self._config.trust_annotations
        ask = not read_only and any(server.config.approval == "ask" for server in found)

        async def mcp_resource(ctx: Context, server: str, uri: str = "") -> ToolOutput:
            """Read a resource of an MCP server; without uri, list them."""
            return await self._read(ctx, server, uri) if uri else await self._list(ctx, server)

        return Tool.from_function(
            mcp_resource,
            read_only=read_only,
            approval="This reaches an MCP server." if ask else None,
            origin="outside",
            effects=find_addresses if read_only else None,
        )

    def _with_resources(self) -> Iterator[tuple[ToolServer, CatalogEntry]]:
        for server in self._servers():
            if server.sessions is not None:
                continue
            entry = self._catalog.entry(server)
            if entry is None or entry.fingerprint != server.fingerprint:
                continue
            if entry.resources:
                yield server, entry

    def _server(self, ctx: Context, name: str) -> ToolServer:
        usable = {one.name: one for one, _ in self._with_resources() if is_available(ctx, one)}
        if name not in usable:
            known = ", ".join(usable) or "none"
            raise Refused(f"no server {name[:60]!r} with resources. Servers: {known}")
        self._calls.require_available(ctx, usable[name])
        return usable[name]

    async def _list(self, ctx: Context, name: str) -> ToolOutput:
        server = self._server(ctx, name)

        async def send(connection: Connection) -> tuple[list[str], bool]:
            await self._calls.check_listing(connection)
            found: tuple[list[str], bool] = await connection.request(
                "list resources", list_lines, (ctx, server.name)
            )
            return found

        lines, more = await self._calls.request(ctx, server, send)
        if more:
            lines.append(f"[more than {MAX_LISTED}; the others are not listed]")
        text = "\n".join(lines) or "The server has no resources now."
        return ToolOutput(await self._pass(ctx, server, "resources", text))

    async def _read(self, ctx: Context, name: str, uri: str) -> ToolOutput:
        server = self._server(ctx, name)

        async def send(connection: Connection) -> Any:
            await self._calls.check_listing(connection)
            return await connection.request(
                uri[:80], lambda client: client.read_resource(uri), (ctx, server.name)
            )

        result = await self._calls.request(ctx, server, send)
        origins = (Origin("outside", f"MCP server {server.name}"),)
        texts, images = convert_contents(result.contents, origins)
        text = "\n\n".join(texts)
        if len(text) > MAX_TEXT_CHARS:
            text = f"{text[:MAX_TEXT_CHARS]}\n[cut: {len(text):,} characters]"
        passed = await self._pass(ctx, server, uri[:200], text) if text else ""
        return ToolOutput(passed or ("" if images else "The resource is empty."), images=images)

    async def _pass(self, ctx: Context, server: ToolServer, what: str, text: str) -> str:
        """Pass a server's text through ``pre_read``."""
        try:
            return await ctx.read(text, f"mcp {server.name} {what}", kind="tool")
        except Refused as refusal:
            raise Refused(f"{what} of MCP server {server.name} was withheld: {refusal}") from None


async def list_lines(client: Any) -> tuple[list[str], bool]:
    """Return a line for each resource and template, and True if there are more."""
    lines: list[str] = []
    more = False
    for listed, name, address in (
        (client.list_resources, "resources", "uri"),
        (client.list_resource_templates, "resource_templates", "uri_template"),
    ):
        page = await listed()
        found = getattr(page, name)
        more |= page.next_cursor is not None or len(lines) + len(found) > MAX_LISTED
        for one in found[: MAX_LISTED - len(lines)]:
            about = " ".join(filter(None, [one.title or one.name, one.description]))
            line = " ".join(strip_hidden(f"{getattr(one, address)} {about}").split())
            lines.append(line[:MAX_LINE_CHARS])
    return lines, more


def convert_contents(
    contents: Any, origins: tuple[Origin, ...]
) -> tuple[list[str], tuple[ImageBlock, ...]]:
    """Return the texts and images of a resource, and notes for what is left out."""
    from .results import MAX_IMAGES, to_image

    texts: list[str] = []
    images: list[ImageBlock] = []
    for part in contents:
        text = getattr(part, "text", None)
        mime = part.mime_type or ""
        if isinstance(text, str):
            texts.append(text)
        elif mime in IMAGE_TYPES and len(images) < MAX_IMAGES:
            image = to_image(mime, part.blob, origins)
            if isinstance(image, str):
                texts.append(image)
            else:
                images.append(image)
        else:
            texts.append(f"[{part.uri} left out: {mime or 'not text'}]")
    return texts, tuple(images)
