"""Bundles on disk, and homes that use them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness
from hookline_bundles import Bundles

GUARD = """#!/bin/sh
input=$(cat)
case "$input" in *"{word}"*) echo "not {word}" >&2; exit 2;; esac
"""


def write(path: Path, text: str, *, executable: bool = False) -> Path:
    """Write a file with its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    if executable:
        path.chmod(0o755)
    return path


def write_json(path: Path, value: Any) -> Path:
    """Write a JSON file with its folders."""
    return write(path, json.dumps(value))


def skill_text(name: str, description: str = "") -> str:
    """The text of a SKILL.md."""
    return f"---\nname: {name}\ndescription: {description or f'Does {name}.'}\n---\n\nStep one.\n"


def claude_plugin(folder: Path, name: str = "demo", **hooks: list[dict[str, Any]]) -> Path:
    """A Claude Code plugin with a skill, a command, an agent and hooks by event."""
    write_json(folder / ".claude-plugin/plugin.json", {"name": name, "version": "1.0.0"})
    write(folder / "skills/tidy/SKILL.md", skill_text("tidy"))
    write(
        folder / "commands/review.md", "---\ndescription: Review\n---\nReview $1 of: $ARGUMENTS\n"
    )
    agent = "---\nname: checker\ndescription: Checks\ntools: Read, Grep\n---\nYou check.\n"
    write(folder / "agents/checker.md", agent)
    if hooks:
        groups = {
            event: [
                {"matcher": one.pop("matcher", ""), "hooks": [{"type": "command", **one}]}
                for one in entries
            ]
            for event, entries in hooks.items()
        }
        write_json(folder / "hooks/hooks.json", {"hooks": groups})
    return folder


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    """A plugin with one of each part, whose guard refuses ``forbidden``."""
    folder = claude_plugin(
        tmp_path / "demo",
        PreToolUse=[{"matcher": "Bash", "command": "${CLAUDE_PLUGIN_ROOT}/guard.sh"}],
    )
    write(folder / "guard.sh", GUARD.format(word="forbidden"), executable=True)
    return folder


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The person's own folder, which is empty."""
    folder = tmp_path / "person"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    return folder


Make = Callable[..., Harness]


@pytest.fixture
def make(harness: Make, person: Path) -> Make:
    """A harness with bundles and the given plugins."""

    def build(*plugins: Any, **options: Any) -> Harness:
        return harness(Bundles, *plugins, **options)

    return build
