"""The contract of every plugin."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_scheduler import Scheduler


class TestSchedulerContract(PluginContract):
    plugin = Scheduler
