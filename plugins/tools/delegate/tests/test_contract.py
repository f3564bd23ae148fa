"""The contract of every plugin."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_delegate import Delegate


class TestDelegateContract(PluginContract):
    plugin = Delegate
