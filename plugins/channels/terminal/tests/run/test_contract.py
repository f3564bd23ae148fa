"""The contract of every plugin."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_run import Run


class TestRunContract(PluginContract):
    plugin = Run
