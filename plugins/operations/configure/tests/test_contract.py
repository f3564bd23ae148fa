"""The contract of every plugin."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_configure import Configure


class TestConfigureContract(PluginContract):
    plugin = Configure
