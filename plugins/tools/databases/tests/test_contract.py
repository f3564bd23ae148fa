"""The contract of every plugin."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_databases import Databases


class TestDatabasesContract(PluginContract):
    plugin = Databases
