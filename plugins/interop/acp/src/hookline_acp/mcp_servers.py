"""Attaches an editor's MCP servers to a session, through the plugin ``mcp``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from acp import schema
from hookline_hookspecs import Host, ToolServers


def server_entries(servers: Sequence[Any] | None) -> tuple[dict[str, Any], ...]:
    """Return the servers as entries of an ``mcpServers`` file."""
    return tuple(_entry(one) for one in servers or ())


def _entry(server: Any) -> dict[str, Any]:
    if isinstance(server, schema.McpServerStdio):
        env = {one.name: one.value for one in server.env}
        return {"name": server.name, "command": server.command, "args": server.args, "env": env}
    if isinstance(server, schema.HttpMcpServer):
        headers = {one.name: one.value for one in server.headers}
        return {"name": server.name, "type": "http", "url": server.url, "headers": headers}
    return {"name": server.name, "type": server.type}


def attach_servers(host: Host, session_id: str, servers: Sequence[dict[str, Any]]) -> list[str]:
    """Set the servers of a session; return a sentence for each that cannot be used."""
    service = host.services.get(ToolServers)
    if service is not None:
        return service.attach(session_id, servers)
    if not servers:
        return []
    names = ", ".join(one["name"] for one in servers)
    return [
        f"The MCP servers of the editor ({names}) are not used: plugin mcp is off. "
        "Run `hookline plugins enable mcp`."
    ]
