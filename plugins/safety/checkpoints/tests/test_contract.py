"""The contract of every plugin."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_checkpoints import Checkpoints


class TestCheckpointsContract(PluginContract):
    plugin = Checkpoints
