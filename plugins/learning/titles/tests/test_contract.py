"""The contract of every plugin."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_titles import Titles


class TestTitlesContract(PluginContract):
    plugin = Titles
