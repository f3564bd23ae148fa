"""The contract of every plugin."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_plan import Plans


class TestPlanContract(PluginContract):
    plugin = Plans
