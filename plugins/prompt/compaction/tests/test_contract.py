"""The contract of every plugin."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_compaction import Compaction


class TestCompactionContract(PluginContract):
    plugin = Compaction
