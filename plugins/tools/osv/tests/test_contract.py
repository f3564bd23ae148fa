"""The contract of every plugin."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_osv import Osv


class TestOsvContract(PluginContract):
    plugin = Osv
