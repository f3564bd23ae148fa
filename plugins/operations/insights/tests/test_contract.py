"""The contract of every plugin."""

from __future__ import annotations

from typing import ClassVar

from hookline.testing import PluginContract
from hookline_insights import Insights


class TestInsightsContract(PluginContract):
    plugin = Insights
    config: ClassVar = {"prices": {"test/model": {"input": 3, "output": 15}}}
