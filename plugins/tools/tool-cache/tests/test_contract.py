"""The contract of every plugin."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_tool_cache import ToolCache


class TestToolCacheContract(PluginContract):
    plugin = ToolCache
