"""The contract of every plugin."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_acp import Acp


class TestAcpContract(PluginContract):
    plugin = Acp
