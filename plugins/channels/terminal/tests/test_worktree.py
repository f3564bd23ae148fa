"""``hookline chat --worktree NAME`` on real repositories."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import HOOKLINE

Script = Callable[[str], str]
Chat = Callable[..., subprocess.CompletedProcess[str]]
STEPS = """
  - {when: "^write", tools: [{name: write_file, arguments: {path: new.txt, content: "x"}}]}
  - {when: "new.txt", text: "Written."}
  - {when: "", text: "Heard.", repeat: true}
"""
GIT = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
}


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env=GIT, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def chat(env: dict[str, str], work: Path, script: Script) -> Chat:
    """Sends lines to a chat in a pipe."""
    model = script(STEPS)

    def run(text: str, *arguments: str, folder: Path = work) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*HOOKLINE, "chat", "--model", model, *arguments],
            input=text,
            env=env,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=60,
        )

    return run


@pytest.fixture
def repo(work: Path) -> Path:
    git(work, "init", "-q", "-b", "main")
    git(work, "commit", "-q", "--allow-empty", "-m", "first")
    return work


@pytest.mark.long
def test_unchanged_worktree_is_removed(chat: Chat, repo: Path) -> None:
    done = chat("/status\n", "--worktree", "fix-login")
    assert done.returncode == 0, done.stderr
    folder = repo / ".worktrees/fix-login"
    assert f"Workspace: {folder}" in done.stdout
    assert "Nothing was changed in the worktree fix-login; it is removed." in done.stderr
    assert not folder.exists()
    assert git(repo, "branch", "--list", "hookline/*") == ""
    assert git(repo, "status", "--porcelain") == ""


@pytest.mark.long
def test_changed_worktree_stays_and_is_used_again(chat: Chat, repo: Path) -> None:
    done = chat("write\n", "--worktree", "topic", "--mode", "auto")
    assert "Written." in done.stdout, done.stderr
    folder = repo / ".worktrees/topic"
    assert (folder / "new.txt").read_text() == "x"
    assert not (repo / "new.txt").exists()
    assert f"The worktree stays at {folder} (branch hookline/topic)." in done.stderr
    assert "git merge hookline/topic" in done.stderr
    again = chat("/status\n", "--worktree", "topic", "--continue")
    assert f"Workspace: {folder}" in again.stdout
    assert "The worktree stays" in again.stderr
    git(folder, "add", "new.txt")
    git(folder, "commit", "-q", "-m", "second")
    assert "The worktree stays" in chat("", "--worktree", "topic").stderr
    git(repo, "merge", "-q", "hookline/topic")
    assert "it is removed" in chat("", "--worktree", "topic").stderr
    assert not folder.exists()


@pytest.mark.long
def test_worktree_without_a_repository_is_refused(chat: Chat, work: Path) -> None:
    done = chat("", "--worktree", "x")
    assert done.returncode == 2
    assert "--worktree needs a git repository" in done.stderr
    assert not (work / ".worktrees").exists()
    git(work, "init", "-q")
    for name in ("../x", "-x", "a..b", "a/b", ""):
        done = chat("", f"--worktree={name}")
        assert done.returncode == 2
        assert "a worktree's name is up to 64 letters" in done.stderr
