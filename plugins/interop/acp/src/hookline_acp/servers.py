"""MCP servers that an editor passes with a session, handed to the plugin ``mcp``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from acp import schema
from hookline_hookspecs import Host, ToolServers


def entries(servers: Sequence[Any] | None) -> tuple[dict[str, Any], ...]:
    """Return the servers as MCP clients write them into their files."""
    return tuple(_entry(one) for one in servers or ())


def _entry(server: Any) -> dict[str, Any]:
    if isinstance(server, schema.McpServerStdio):
        env = {one.name: one.value for one in server.env}
        return {"name": server.name, "command": server.command, "args": server.args, "env": env}
    if isinstance(server, schema.HttpMcpServer):
        headers = {one.name: one.value for one in server.headers}
        return {"name": server.name, "type": "http", "url": server.url, "headers": headers}
    return {"name": server.name, "type": server.type}


def lend(host: Host, session_id: str, servers: Sequence[dict[str, Any]]) -> list[str]:
    """Let a session use ``servers`` and no others; return sentences about those it cannot use."""
    service = host.services.get(ToolServers)
    if service is not None:
        return service.attach(session_id, servers)
    if not servers:
        return []
    names = ", ".join(one["name"] for one in servers)
    return [
        f"The MCP servers of the editor ({names}) are not used: the plugin mcp is off; "
        "`hookline plugins enable mcp` switches it on."
    ]
