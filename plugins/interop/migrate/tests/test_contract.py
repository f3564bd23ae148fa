"""The contract of every plugin."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_migrate import Migrate


class TestContract(PluginContract):
    plugin = Migrate
