"""The contract of every plugin."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_vault import VaultPlugin


class TestVaultContract(PluginContract):
    plugin = VaultPlugin
