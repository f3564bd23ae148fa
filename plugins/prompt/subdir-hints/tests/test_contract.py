"""The contract of every plugin."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_subdir_hints import SubdirHints


class TestSubdirHintsContract(PluginContract):
    plugin = SubdirHints
