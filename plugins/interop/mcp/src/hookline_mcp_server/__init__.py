"""Hookline plugin ``mcp-server``: Hookline as an MCP server, for editors and other agents.

Reached by the entry point ``hookline_mcp_server:McpServer``. :mod:`.cli` is the command,
:mod:`.transports` serves stdio and HTTP, :mod:`.http_auth` checks HTTP requests,
:mod:`.caller_tools` holds the tools that callers see, :mod:`.session_reader` reads sessions and
events, :mod:`.plugin_tools` calls tools of other plugins, and :mod:`.agent_turns` runs turns.
"""

from __future__ import annotations

from .config import McpServerConfig
from .plugin import McpServer

__all__ = ["McpServer", "McpServerConfig"]
