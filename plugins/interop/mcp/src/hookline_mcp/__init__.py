"""Hookline plugin ``mcp``: tools of MCP servers, pinned when they are approved, found by search.

Reached by the entry point ``hookline_mcp:Mcp``. :mod:`.servers` reads who is configured,
:mod:`.catalog` holds what was approved, :mod:`.pool` and :mod:`.connection` reach the servers,
:mod:`.finding` searches, :mod:`.lent` holds servers that an editor brings. The SDK ``mcp`` is
imported at the first connection.
"""

from .config import McpConfig
from .plugin import Mcp

__all__ = ["Mcp", "McpConfig"]
