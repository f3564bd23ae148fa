"""Skills of a plugin: shown and matched like others, and read-only."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness
from hookline_hookspecs import Host, Plugin, hookimpl
from hookline_hookspecs.plugin import NoConfig
from hookline_hookspecs.skill_folders import SkillFolder
from hookline_skills import Skills
from hookline_skills.archive import archive_skill
from hookline_skills.folders import SkillNotFound
from hookline_skills.overview import overview

from .conftest import Bench, Gate, skill_text


class Garden(Plugin[NoConfig]):
    """Brings the skills of a folder in the home."""

    @hookimpl
    def setup(self, host: Host) -> None:
        host.services.add(SkillFolder, SkillFolder(host.home / "garden", "garden"))


class PluginBench(Bench):
    """A bench with that plugin on."""

    def restart(self) -> None:
        folder = self.home / "garden" / "prune-roses"
        (folder / "sql").mkdir(parents=True, exist_ok=True)
        text = skill_text("prune-roses", "Prunes roses in spring.", "Cut above a bud.")
        (folder / "SKILL.md").write_text(text, "utf-8")
        (folder / "sql" / "roses.sql").write_text("SELECT 1;\n", "utf-8")
        config: dict[str, Any] = {"skills": {"allow_editing_hand_written": True}}
        self.harness = self._make(Gate, Skills, Garden, home=self.home, config=config)


@pytest.fixture
def visit(harness: Callable[..., Harness], tmp_path: Path) -> PluginBench:
    return PluginBench(harness, tmp_path / "home")


def test_plugin_skill_is_listed_added_and_read_without_a_home_folder(visit: PluginBench) -> None:
    assert "Cut above a bud." in visit.say("prune my roses, it is spring")
    assert "- prune-roses: Prunes roses in spring." in visit.harness.model.last.system
    assert visit.view("prune-roses", "sql/roses.sql").text.strip() == "SELECT 1;"
    assert not visit.root.exists()


def test_plugin_skill_cannot_be_changed(visit: PluginBench) -> None:
    for change in (
        visit.manage("patch", "prune-roses", old_string="bud", new_string="leaf"),
        visit.manage("delete", "prune-roses"),
        visit.create("prune-roses", "Another way."),
    ):
        assert not change.ok
    assert "comes with the plugin garden" in visit.manage("delete", "prune-roses").text
    with pytest.raises(SkillNotFound, match="comes with the plugin garden"):
        visit.harness.run(archive_skill(visit.skills, "prune-roses"))
    assert "Cut above a bud." in visit.view("prune-roses").text


def test_own_skill_of_the_same_name_overrides_the_plugins(visit: PluginBench) -> None:
    assert "Cut above a bud." in visit.view("prune-roses").text
    visit.write("prune-roses", "Prunes roses.", "Ask Maria.")
    assert "Ask Maria." in visit.view("prune-roses").text
    assert "Ask Maria." in visit.say("prune my roses, it is spring", session="second")
    (visit.root / "prune-roses" / "SKILL.md").unlink()
    (visit.root / "prune-roses").rmdir()
    assert "Cut above a bud." in visit.say("prune my roses, it is spring", session="third")


def test_plugin_skill_is_shown_with_its_plugin(visit: PluginBench) -> None:
    [row] = visit.harness.run(overview(visit.skills))
    assert (row["name"], row["origin"]) == ("prune-roses", "plugin")
