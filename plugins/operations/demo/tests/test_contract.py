"""The contract of every plugin."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_demo import Demo


class TestDemoContract(PluginContract):
    plugin = Demo
