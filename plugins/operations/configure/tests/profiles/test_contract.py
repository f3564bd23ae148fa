"""The contract of every plugin."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_profiles import Profiles


class TestProfilesContract(PluginContract):
    plugin = Profiles
