"""The plugin that adds commands."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_storage import StoragePlugin


class TestStorageContract(PluginContract):
    plugin = StoragePlugin
