"""The contract of every plugin."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_semantic import Semantic


class TestSemanticContract(PluginContract):
    plugin = Semantic
