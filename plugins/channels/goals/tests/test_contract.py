"""The contract of every plugin."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_goals import Goals


class TestGoalsContract(PluginContract):
    plugin = Goals
