"""The contract of every plugin."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_terminal import Terminal


class TestTerminalContract(PluginContract):
    plugin = Terminal
