"""Hookline plugin ``mcp-server``: Hookline as an MCP server, for editors and other agents.

Reached by the entry point ``hookline_mcp_server:McpServer``. :mod:`.cli` is the command,
:mod:`.serving` the two transports, :mod:`.lines` standard input, :mod:`.http` what a request over
HTTP must bring, :mod:`.calls` the tools and how they are called, :mod:`.reading` sessions and
events, :mod:`.borrowed` the tools of other plugins, :mod:`.asking` turns and the questions in them.
"""

from __future__ import annotations

from .config import McpServerConfig
from .plugin import McpServer

__all__ = ["McpServer", "McpServerConfig"]
