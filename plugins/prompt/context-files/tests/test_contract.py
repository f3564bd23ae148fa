"""The contract of every plugin."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_context_files import ContextFiles


class TestContextFilesContract(PluginContract):
    plugin = ContextFiles
