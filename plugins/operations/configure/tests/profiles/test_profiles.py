"""Profiles are separate homes, and switching can be undone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock
from hookline.testing import Harness
from hookline_profiles import Profiles

Run = Callable[..., str]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with settings."""
    folder = tmp_path / "home"
    (folder / "skills" / "brew").mkdir(parents=True)
    (folder / "config.yaml").write_text("operator_message: be brief\n")
    (folder / ".env").write_text("OPENAI_API_KEY=sk-1\n")
    (folder / ".env").chmod(0o600)
    (folder / "skills" / "brew" / "SKILL.md").write_text("# Brew\n")
    (folder / "memories").mkdir()
    (folder / "memories" / "MEMORY.md").write_text("likes tea\n")
    (folder / "context").symlink_to("/etc")
    return folder


@pytest.fixture
def run(harness: Callable[..., Harness], home: Path) -> Run:
    """``hookline profile …``; what it prints, or its error where one is expected."""
    made = harness(Profiles, home=home)

    def run(words: str, code: int = 0) -> str:
        done = made.cli(f"profile {words}")
        assert done.exit_code == code, done.stderr + done.stdout
        return done.stderr if code else done.stdout

    return run


def hookline(home: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """The program itself, in a home."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("HOOKLINE")}
    return subprocess.run(
        [sys.executable, "-m", "hookline", *words],
        env=env | {"HOOKLINE_HOME": str(home)} | more,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_cloned_profile_has_settings_but_no_memory(run: Run, home: Path) -> None:
    assert "its own tokens" in run("create work --clone")
    work = home / "profiles" / "work"
    found = {str(path.relative_to(work)) for path in work.rglob("*") if path.is_file()}
    assert found == {"config.yaml", ".env", "skills/brew/SKILL.md"}  # and no link
    assert work.stat().st_mode & 0o777 == 0o700
    assert (work / ".env").stat().st_mode & 0o777 == 0o600
    run("create empty")
    assert list((home / "profiles" / "empty").iterdir()) == []


@pytest.mark.parametrize("name", ["default", "../up", "a/b", "Work", "", "-x", "a" * 33, "."])
def test_invalid_profile_name_is_refused(run: Run, home: Path, name: str) -> None:
    assert "is not a valid profile name" in run(f"create -- '{name}'", code=1)
    assert not (home / "profiles").exists()


def test_profile_use_default_switches_back(run: Run, home: Path) -> None:
    run("create work")
    assert "`hookline profile use default` switches back" in run("use work")
    rows = json.loads(run("list --json"))
    assert [(row["name"], row["active"]) for row in rows] == [("default", False), ("work", True)]
    assert "active" in run("delete work --yes", code=1)
    run("use default")
    assert "there are default, work" in run("use gone", code=1)
    away = home / "profiles" / ".deleted"
    assert "Add --yes" in run("delete work", code=2)
    with FileLock(home / "profiles" / "work" / "gateway.lock"):
        assert "a gateway is running" in run("delete work --yes", code=1)
        assert "gateway running" in run("list")
    run("delete work --yes")
    assert [path.name.split("-")[0] for path in away.iterdir()] == ["work"]
    assert run("list").split()[1] == "default"


@pytest.mark.slow
def test_hookline_uses_the_named_or_active_profile(home: Path) -> None:
    assert hookline(home, "profile", "create", "work").returncode == 0
    assert hookline(home, "profile", "create", "play").returncode == 0

    def place(*words: str, **more: str) -> str:
        done = hookline(home, *words, "config", "path", **more)
        return done.stdout.strip().removesuffix("/config.yaml") or done.stderr

    assert place() == str(home)
    assert place("-p", "work") == str(home / "profiles" / "work")
    assert hookline(home, "-p", "play", "profile", "use", "work").returncode == 0
    assert place() == place("--profile=work") == str(home / "profiles" / "work")
    assert place("-p", "default") == str(home)
    # What a process starts stays in its profile, whatever is chosen meanwhile.
    assert place(HOOKLINE_PROFILE="default") == str(home)
    assert "hookline profile create NAME" in place("-p", "nosuch")
    assert "unknown profile '../profiles/work'" in place("-p", "../profiles/work")

    (home / "active-profile").write_text("gone\n")
    assert "hookline profile use default" in place()
    assert hookline(home, "profile", "use", "default").returncode == 0
    assert place() == str(home)
