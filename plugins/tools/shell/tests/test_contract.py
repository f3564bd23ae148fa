"""The contract of every plugin."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_shell import Shell


class TestShellContract(PluginContract):
    plugin = Shell
