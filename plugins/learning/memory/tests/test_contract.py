"""The contract of every plugin."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_memory import Memory


class TestMemoryContract(PluginContract):
    plugin = Memory
