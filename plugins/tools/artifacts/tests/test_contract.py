"""The contract of every plugin."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_artifacts import Artifacts


class TestArtifactsContract(PluginContract):
    plugin = Artifacts
