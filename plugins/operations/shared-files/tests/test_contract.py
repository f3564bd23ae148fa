"""The contract of every plugin."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_shared_files import SharedFiles


class TestSharedFilesContract(PluginContract):
    plugin = SharedFiles
