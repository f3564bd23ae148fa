"""The contract of every plugin."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_skills import Skills


class TestSkillsContract(PluginContract):
    plugin = Skills
