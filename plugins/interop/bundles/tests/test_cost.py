"""What bundles cost: nothing where there is none, little where there are ten."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hookline.testing import Harness, calls
from hookline_bundles import Bundles
from hookline_hookspecs import Step

from .conftest import Make, skill_text, write, write_json
from .test_hooks import Tools


def chars(h: Harness) -> int:
    """Characters of the stable prompt of the last session."""
    request = h.model.requests[-1]
    tools = [[tool.name, tool.description, tool.parameters] for tool in request.tools]
    return len(request.system) + len(json.dumps(tools, separators=(",", ":")))


def test_without_bundles_nothing_is_added_to_the_prompt(make: Make, harness: Make) -> None:
    skills = pytest.importorskip("hookline_skills").Skills
    delegate = pytest.importorskip("hookline_delegate").Delegate
    with_plugin = make(skills, delegate, model=["hi"])
    with_plugin.send("hello")
    without = harness(skills, delegate, model=["hi"], workspace=with_plugin.workspace)
    without.send("hello")
    assert chars(with_plugin) == chars(without)


def test_ten_bundles_add_at_most_200_tokens(make: Make, tmp_path: Path) -> None:
    skills = pytest.importorskip("hookline_skills").Skills
    delegate = pytest.importorskip("hookline_delegate").Delegate
    before = make(skills, delegate, model=["hi"])
    before.send("hello")
    h = make(skills, delegate, model=["hi"])
    for number in range(10):
        folder = tmp_path / f"bundle-{number}"
        write_json(folder / ".claude-plugin/plugin.json", {"name": f"bundle-{number}"})
        for skill in range(5):
            name = f"skill-{number}-{skill}"
            write(folder / f"skills/{name}/SKILL.md", skill_text(name, "Long words. " * 20))
        agent = f"---\nname: agent-{number}\ndescription: {'Does much. ' * 20}\n---\nDo.\n"
        write(folder / "agents/a.md", agent)
        assert h.cli(f"bundles add {folder} --yes").exit_code == 0
    h.send("hello", session="new")
    assert "bundle-9" in h.model.requests[0].system
    assert (chars(h) - chars(before)) / 4 <= 200


def test_turn_without_bundles_takes_at_most_3_ms_more(make: Make) -> None:
    h = make(Tools, model=[step for _ in range(9) for step in (calls("bash", command="ls"), "ok")])
    steps: list[Step] = []
    h.plugin(Bundles).host.watch(lambda _ctx, step: steps.append(step))
    h.send("warm up")
    durations = []
    for _ in range(8):
        steps.clear()
        h.send("go")
        mine = [step.seconds * 1000 for step in steps if step.plugin == "bundles"]
        assert mine
        durations.append(sum(mine))
    assert min(durations) <= 3
