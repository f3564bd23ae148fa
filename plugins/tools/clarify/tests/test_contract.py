"""The contract of every plugin."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_clarify import Clarify


class TestClarifyContract(PluginContract):
    plugin = Clarify
