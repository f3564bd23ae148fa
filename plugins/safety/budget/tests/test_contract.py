"""The contract of every plugin."""

from __future__ import annotations

from typing import ClassVar

from hookline.testing import PluginContract
from hookline_budget import Budget


class TestBudgetContract(PluginContract):
    plugin = Budget
    config: ClassVar = {"daily_tokens_per_chat": 1000, "daily_tokens": 2000}
