"""The contract of every plugin."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_access import AccessControl


class TestAccessContract(PluginContract):
    plugin = AccessControl
