"""The contract of every plugin."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_permissions import Permissions


class TestPermissionsContract(PluginContract):
    plugin = Permissions
