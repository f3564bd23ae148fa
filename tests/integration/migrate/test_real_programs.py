"""The real Hermes Agent and nanobot talk to a local model; their homes are imported.

They are installed from PyPI into environments of their own. ``HOOKLINE_TEST_HERMES`` and
``HOOKLINE_TEST_NANOBOT`` name programs that are there already.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from support.migrate.lenient_model import Model
from support.migrate.migration_home import MigrationHome, states

PROGRAMS = {
    "hermes": ("HOOKLINE_TEST_HERMES", "hermes-agent==0.19.0"),
    "nanobot": ("HOOKLINE_TEST_NANOBOT", "nanobot-ai==0.3.5"),
}
PATIENCE = 300


def program(name: str, folder: Path) -> str:
    """The program's path; skips the test where it cannot be installed."""
    variable, package = PROGRAMS[name]
    if found := os.environ.get(variable):
        return found
    venv.create(folder, with_pip=True)
    words = [str(folder / "bin/python"), "-m", "pip", "install", "-q", package]
    try:
        subprocess.run(words, check=True, capture_output=True, timeout=PATIENCE)
    except (subprocess.SubprocessError, OSError) as error:
        pytest.skip(f"{package} cannot be installed here: {error}")
    return str(folder / "bin" / name)


def say(words: list[str], home: Path, url: str, **env: str) -> None:
    """Have a program say something."""
    own = {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", **env}
    own |= {"OPENAI_API_KEY": "test", "OPENAI_BASE_URL": url}
    done = subprocess.run(
        words, env=own, cwd=home, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_home_written_by_hermes_is_imported(migration: MigrationHome, tmp_path: Path) -> None:
    hermes = program("hermes", tmp_path / "venv")
    with Model() as server:
        migration.write(
            "config.yaml",
            f"model: {{default: gpt-5, provider: custom, base_url: '{server.base_url}',"
            " api_key: test}\nmcp_servers: {time: {command: uvx, args: [mcp-server-time]}}\n",
        )
        for text in ("remember where the key is", "what is the reactor codename?"):
            words = [hermes, "chat", "-Q", "--yolo", "-q", text]
            say(words, tmp_path, server.base_url, HERMES_HOME=str(migration.old))
    found = states(migration.rows("apply", "hermes", "--only session"))
    assert found == {"session": ["migrated", "migrated"]}
    assert states(migration.rows("apply", "hermes", "--only note")) == {"note": ["migrated"]}
    assert (migration.home / "memories/MEMORY.md").read_text() == "The key is in the Oslo safe.\n"
    assert states(migration.rows("plan", "hermes", "--only document")) == {"document": ["skipped"]}
    assert "Zirconwhale" in migration.h.send("what was the codename?").tool_calls[0].text


@pytest.mark.slow
@pytest.mark.skipif(sys.version_info < (3, 11), reason="nanobot needs Python 3.11")
def test_home_written_by_nanobot_is_imported(migration: MigrationHome, tmp_path: Path) -> None:
    nanobot = program("nanobot", tmp_path / "venv")
    with Model() as server:
        provider = {"apiKey": "test", "apiBase": server.base_url}
        workspace = str(tmp_path / ".nanobot/workspace")
        agents = {"defaults": {"workspace": workspace, "model": "gpt-5", "provider": "custom"}}
        migration.old = tmp_path / ".nanobot"
        migration.write("config.json", {"providers": {"custom": provider}, "agents": agents})
        words = [nanobot, "agent", "-m", "what is the reactor codename?"]
        say(words, tmp_path, server.base_url)
    rows = migration.rows("apply", "nanobot")
    assert states(rows)["session"] == ["migrated"]
    assert set(states(rows)["document"]) == {"skipped"}
    assert states(rows)["user"] == ["skipped"]
    assert "Zirconwhale" in migration.h.send("what was the codename?").tool_calls[0].text
