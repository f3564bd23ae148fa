"""The contract of every plugin."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_fallback import Fallback


class TestFallbackContract(PluginContract):
    plugin = Fallback
