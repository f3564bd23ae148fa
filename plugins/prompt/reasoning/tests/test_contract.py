"""The contract of every plugin."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_reasoning import Reasoning


class TestReasoningContract(PluginContract):
    plugin = Reasoning
