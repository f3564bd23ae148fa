"""The contract of every plugin."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_backup import Backup


class TestBackupContract(PluginContract):
    plugin = Backup
