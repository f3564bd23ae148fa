"""The contract of every plugin."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_mcp_server import McpServer


class TestMcpServerContract(PluginContract):
    plugin = McpServer
