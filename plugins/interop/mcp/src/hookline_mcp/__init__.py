"""Hookline plugin ``mcp``: tools of MCP servers, pinned when they are approved, found by search.

Reached by the entry point ``hookline_mcp:Mcp``. :mod:`.servers` reads which servers are configured,
:mod:`.catalog` stores what was approved, :mod:`.pool` and :mod:`.connection` connect,
:mod:`.mcp_tools` turns a server's tools into Hookline's and calls them, :mod:`.search_index` finds
them, and :mod:`.session_servers` holds servers that an editor brings. The SDK ``mcp`` is imported
at the first connection.
"""

from .config import McpConfig
from .plugin import Mcp

__all__ = ["Mcp", "McpConfig"]
