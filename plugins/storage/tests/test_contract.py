"""The plugin that adds commands."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_storage import StorageCommands


class TestStorageContract(PluginContract):
    plugin = StorageCommands
