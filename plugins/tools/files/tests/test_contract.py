"""The contract of every plugin."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_files import Files


class TestFilesContract(PluginContract):
    plugin = Files
