"""The contract of every plugin."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_commands import Commands


class TestCommandsContract(PluginContract):
    plugin = Commands
