"""The contract of every plugin."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_modes import SessionModes


class TestSessionModesContract(PluginContract):
    plugin = SessionModes
