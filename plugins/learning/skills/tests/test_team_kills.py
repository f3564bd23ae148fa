"""kill -9 during each step: the step is atomic, and repeating it does it once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml
from hookline_teamskills import Signer

from .conftest import skill_text

pytestmark = pytest.mark.slow


class Home:
    """A member's home and its command line, each call a process of its own."""

    def __init__(self, folder: Path, name: str) -> None:
        self.path = folder / name
        self.signer = Signer.open(self.path / "plugins/skills/team/member.json", name)

    def configure(self, url: str, trust: str) -> None:
        skills = {"team": url, "trust": [trust]}
        config = yaml.safe_dump({"plugins": {"skills": skills}})
        (self.path / "config.yaml").write_text(config, "utf-8")

    def write(self, body: str) -> None:
        folder = self.path / "skills" / "ship-it"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "SKILL.md").write_text(skill_text("ship-it", body=body), "utf-8")

    def run(self, *words: str, crash: str = "") -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "hookline", "--home", str(self.path), "skills", *words]
        env = {**os.environ, "HOOKLINE_CRASH_AT": crash}
        cwd = self.path.parent
        return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=env)

    def log(self) -> list[tuple[int, str]]:
        rows = json.loads(self.run("log", "ship-it", "--json").stdout)
        return [(row["version"], row["state"]) for row in rows if row["state"] != "draft"]


@pytest.fixture
def homes(tmp_path: Path) -> tuple[Home, Home]:
    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path / "team.git")], check=True)
    ann, ben = Home(tmp_path, "ann"), Home(tmp_path, "ben")
    for home in (ann, ben):
        home.configure(f"git+file://{tmp_path}/team.git", ben.signer.key)
    ann.write("One.")
    return ann, ben


STEPS = ("propose", "review --approve", "revoke")


@pytest.mark.parametrize("point", ["team-before-append", "team-after-append"])
@pytest.mark.parametrize("step", STEPS)
def test_step_repeated_after_a_kill_is_done_once(
    homes: tuple[Home, Home], step: str, point: str
) -> None:
    ann, ben = homes
    for earlier in STEPS[: STEPS.index(step)]:
        done = (ann if earlier == "propose" else ben).run(*earlier.split(), "ship-it")
        assert done.returncode == 0, done.stderr
    who = ann if step == "propose" else ben
    killed = who.run(*step.split(), "ship-it", crash=point)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    again = who.run(*step.split(), "ship-it")
    was_done = point == "team-after-append"
    assert again.returncode == (1 if was_done else 0), again.stderr
    assert "Traceback" not in again.stderr
    state = {"propose": "proposed", "review --approve": "approved", "revoke": "revoked"}[step]
    assert ann.log() == ben.log() == [(1, state)]


@pytest.mark.parametrize("point", ["team-before-place", "team-before-hand-over"])
def test_update_interrupted_by_a_kill_is_finished(homes: tuple[Home, Home], point: str) -> None:
    ann, ben = homes
    assert ann.run("propose", "ship-it").returncode == 0
    assert ben.run("review", "--approve", "ship-it").returncode == 0
    assert ann.run("list", crash=point).returncode == -signal.SIGKILL
    shown = json.loads(ann.run("show", "ship-it", "--json").stdout)
    assert shown["origin"] == "team"
    assert "One." in shown["text"]
    assert not (ann.path / "skills" / "ship-it").exists()
    versions = json.loads(ann.run("history", "ship-it", "--json").stdout)
    assert [row["action"] for row in versions] == ["found", "team"]


def test_rollback_repeated_after_a_kill_is_done_once(homes: tuple[Home, Home]) -> None:
    ann, ben = homes
    for body in ("One.", "Two."):
        ann.write(body)
        assert ann.run("propose", "ship-it").returncode == 0
        assert ben.run("review", "--approve", "ship-it").returncode == 0
    killed = ben.run("rollback", "ship-it", crash="team-before-append")
    assert killed.returncode == -signal.SIGKILL
    assert ben.log() == [(1, "approved"), (2, "approved")]
    assert ben.run("rollback", "ship-it").returncode == 0
    assert ann.log() == [(1, "approved"), (2, "approved"), (3, "approved")]
    assert "One." in json.loads(ann.run("show", "ship-it", "--json").stdout)["text"]


def test_proposals_of_several_homes_at_once_are_all_kept(
    homes: tuple[Home, Home], tmp_path: Path
) -> None:
    """Eight processes, two for each skill: nothing is lost, no number is given twice."""
    ben = homes[1]
    makers = []
    for number in range(8):
        home = Home(tmp_path, f"m{number}")
        home.configure(f"git+file://{tmp_path}/team.git", ben.signer.key)
        name = f"task-{'abcd'[number // 2] * 3}"
        folder = home.path / "skills" / name
        folder.mkdir(parents=True)
        text = skill_text(name, description=f"Does {name}.", body=f"By {number}.")
        (folder / "SKILL.md").write_text(text, "utf-8")
        makers.append((home, name))
    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(lambda made: made[0].run("propose", made[1]), makers))
    assert [one.returncode for one in done] == [0] * 8, [one.stderr for one in done]
    rows = json.loads(ben.run("review", "--json").stdout)
    found = sorted((row["name"], row["version"]) for row in rows)
    assert found == [(f"task-{c * 3}", n) for c in "abcd" for n in (1, 2)]
