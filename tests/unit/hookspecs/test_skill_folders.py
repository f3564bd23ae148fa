"""Skill folders that a plugin offers reach the reader of skills."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hookline.testing import Harness
from hookline_hookspecs import Host, Plugin, hookimpl
from hookline_hookspecs.plugin import NoConfig
from hookline_hookspecs.skill_folders import SkillFolder


class Garden(Plugin[NoConfig]):
    """Brings skills."""

    @hookimpl
    def setup(self, host: Host) -> None:
        host.services.add(SkillFolder, SkillFolder(host.home / "garden", host.plugin))


def test_skill_folder_is_offered_while_its_plugin_is_on(
    harness: Callable[..., Harness], tmp_path: Path
) -> None:
    runtime = harness(Garden, home=tmp_path)
    plugin = runtime.plugin(Garden)
    [found] = plugin.host.services.all(SkillFolder)
    assert found == SkillFolder(tmp_path / "garden", plugin.host.plugin)
