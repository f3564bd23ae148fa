"""After a kill at any step of an apply, the next one completes the same home."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from support.migrate import foreign_homes as homes
from support.migrate.migration_home import MigrationHome

POINTS = [
    f"{name}:{count}"
    for name in ("migrate-begun", "migrate-taken", "migrate-noted")
    for count in (1, 2, 3, 4)
]


def hookline(home: Path, *words: str, point: str = "") -> subprocess.CompletedProcess[str]:
    """``hookline migrate WORDS`` in a process that is killed at a point."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("HOOKLINE")}
    env |= {"HOOKLINE_HOME": str(home), "HOOKLINE_PLUGINS__SCHEDULER": "true"}
    env |= {"HOOKLINE_CRASH_AT": point} if point else {}
    return subprocess.run(
        [sys.executable, "-m", "hookline", "migrate", *words],
        env=env,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def known(home: Path) -> tuple[object, ...]:
    """What a home has learnt."""
    queries = (
        "SELECT session_id, seq, text, created FROM messages ORDER BY 1, 2",
        "SELECT id, title, ended FROM sessions ORDER BY 1",
        "SELECT id, prompt, state FROM scheduler_jobs",
    )
    with closing(sqlite3.connect(home / "hookline.db")) as database:
        rows = [database.execute(query).fetchall() for query in queries]
    names = ("memories/MEMORY.md", "chats/terminal/default/USER.md", "SOUL.md")
    skills = sorted(str(one.relative_to(home)) for one in home.glob("skills/*/SKILL.md"))
    return (*rows, *((home / name).read_text() for name in names), skills)


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS)
def test_apply_continues_after_a_kill(migration: MigrationHome, tmp_path: Path, point: str) -> None:
    homes.hermes(migration).close()
    words = ("apply", "hermes", "--from", str(migration.old), "--json", "--no-backup")
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    expected = hookline(whole, *words)
    assert expected.returncode == 0, expected.stderr

    killed = hookline(broken, *words, point=point)
    assert killed.returncode == -9, killed.stderr
    done = hookline(broken, *words)
    assert done.returncode == 0, done.stderr
    assert known(broken) == known(whole)
    states = [
        [(row["id"], row["state"]) for row in json.loads(one.stdout)] for one in (expected, done)
    ]
    assert states[0] == states[1]

    undone = hookline(broken, "undo", "hermes", "--json")
    assert undone.returncode == 0, undone.stderr
    assert {row["state"] for row in json.loads(undone.stdout)} == {"planned"}
    assert not (broken / "SOUL.md").exists()
    assert (broken / "memories/MEMORY.md").read_text() == ""


@pytest.mark.slow
def test_apply_backs_up_first_and_imports_profiles_servers_and_keys(
    migration: MigrationHome, tmp_path: Path
) -> None:
    homes.hermes(migration).close()
    migration.write("profiles/coder/memories/MEMORY.md", "Tabs, not spaces.")
    migration.write("config.yaml", "mcp_servers:\n  time: {command: uvx, env: {TZ: UTC}}\n")
    home = tmp_path / "mine"
    home.mkdir()
    (home / "config.yaml").write_text("# my own comment\noperator_message: be brief\n")
    words = ("hermes", "--from", str(migration.old), "--json", "--secrets")
    done = hookline(home, "apply", *words)
    assert done.returncode == 0, done.stderr
    rows = {(row["kind"], row["source"]): row for row in json.loads(done.stdout)}
    assert rows["profile", "hermes: profiles/coder"]["state"] == "migrated"
    assert len(list((home / "backups").glob("*.tar.zst"))) == 1
    notes = home / "profiles/coder/memories/MEMORY.md"
    assert notes.read_text() == "Tabs, not spaces.\n"
    config = (home / "config.yaml").read_text()
    assert "# my own comment" in config
    assert "TZ: ${MCP_TIME_TZ:-}" in config
    keys = (home / ".env").read_text().splitlines()
    assert sorted(keys) == ["MCP_TIME_TZ=UTC", "OPENROUTER_API_KEY=sk-or-1"]
    assert (home / ".env").stat().st_mode & 0o777 == 0o600

    undone = hookline(home, "undo", "hermes", "--json")
    assert undone.returncode == 0, undone.stderr
    assert {row["state"] for row in json.loads(undone.stdout)} == {"planned"}
    assert "time" not in (home / "config.yaml").read_text()
    assert not (home / "profiles/coder").exists()
    assert "OPENROUTER_API_KEY" not in (home / ".env").read_text()
