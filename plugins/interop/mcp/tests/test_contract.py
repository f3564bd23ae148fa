"""The contract of every plugin."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_mcp import Mcp


class TestMcpContract(PluginContract):
    plugin = Mcp
