"""Whether a snapshot covers everything that a git command can throw away."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import calls
from hookline_hookspecs import Ask, Checkpoints, Context, Plugin, ToolCall, hookimpl

from .conftest import WorkspaceChat


class Guard(Plugin):
    """Asks the service before each call."""

    found: list[bool] = []  # noqa: RUF012
    history = False

    @hookimpl
    async def pre_tool(self, ctx: Context, call: ToolCall) -> Ask | None:
        if call.name == "act":
            service = self.host.services[Checkpoints]
            self.found.append(await service.hold(ctx, history=self.history))
        return None


def git(folder: Path, *words: str) -> None:
    """Run git as a person would."""
    who = ("-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


def holds(chat: WorkspaceChat) -> bool:
    """The answer of the service in a new turn."""
    Guard.found.clear()
    chat.turn("go")
    (found,) = Guard.found
    return found


@pytest.fixture
def repository(make_chat: Callable[..., WorkspaceChat]) -> WorkspaceChat:
    """A workspace that is a repository with a file."""
    chat = make_chat(plugins=(Guard,))
    git(chat.work, "init", "-q")
    chat.put("a", "1")
    chat.put("sub/b", "1")
    git(chat.work, "add", ".")
    git(chat.work, "commit", "-qm", "x")
    return chat


@pytest.mark.parametrize("version", ["2", "4"])
def test_snapshot_covers_a_repository(repository: WorkspaceChat, version: str) -> None:
    git(repository.work, "update-index", "--index-version", version)
    assert holds(repository)


def test_snapshot_covers_what_was_written_in_the_same_turn(repository: WorkspaceChat) -> None:
    def work() -> Any:
        repository.put("new", "made in this turn")

    Guard.found.clear()
    repository.harness.model.steps.append(calls("act"))  # type: ignore[attr-defined]
    repository.turn("go", work)
    assert Guard.found == [True, True]
    (repository.work / "new").unlink()
    repository.rewind(f"{repository.hashes()[0]} all")
    assert (repository.work / "new").read_text() == "made in this turn"


@pytest.mark.slow
def test_snapshot_does_not_cover_tracked_excluded_files(repository: WorkspaceChat) -> None:
    repository.put(".env", "KEY=1")
    assert holds(repository), "git does not know it"
    git(repository.work, "add", "-f", ".env")
    assert not holds(repository)
    git(repository.work, "rm", "-q", "--cached", ".env")
    assert holds(repository)
    repository.put("node_modules/x.js", "1")
    git(repository.work, "add", "-f", "node_modules/x.js")
    assert not holds(repository)


def test_snapshot_covers_a_nested_repository(repository: WorkspaceChat) -> None:
    inner = repository.work / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    repository.put("inner/c", "1")
    git(inner, "add", "c")
    assert holds(repository)
    repository.put("inner/.env", "1")
    git(inner, "add", "-f", ".env")
    assert not holds(repository)


def test_snapshot_of_a_subfolder_does_not_cover_the_repository(
    make_chat: Callable[..., WorkspaceChat], tmp_path: Path
) -> None:
    (tmp_path / "whole").mkdir()
    git(tmp_path / "whole", "init", "-q")
    chat = make_chat(plugins=(Guard,), work=tmp_path / "whole" / "part")
    chat.put("a", "1")
    assert not holds(chat)


def test_snapshot_does_not_cover_an_unreadable_index(repository: WorkspaceChat) -> None:
    (repository.work / ".git/index").write_bytes(b"DIRC\0\0\0\x09\0\0\0\x01")
    assert not holds(repository)


def test_history_counts_only_if_it_is_kept(
    repository: WorkspaceChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Guard, "history", True)
    assert holds(repository)
    (repository.work / ".git/reftable").mkdir()  # a format that is not supported
    assert not holds(repository)


def test_snapshot_does_not_cover_too_large_files(make_chat: Callable[..., WorkspaceChat]) -> None:
    chat = make_chat(plugins=(Guard,), config={"max_files": 1})
    chat.put("a")
    chat.put("b")
    assert not holds(chat)


class Elsewhere(Plugin):
    """Asks the service about one place outside the workspace before each call."""

    place = Path()
    found: list[bool] = []  # noqa: RUF012

    @hookimpl
    async def pre_tool(self, ctx: Context, call: ToolCall) -> Ask | None:
        if call.name == "act":
            self.found.append(await self.host.services[Checkpoints].hold(ctx, self.place))
        return None


@pytest.mark.slow
def test_snapshot_covers_an_allowed_path_outside_the_workspace(
    make_chat: Callable[..., WorkspaceChat], tmp_path: Path
) -> None:
    other = tmp_path / "other"
    (other / "sub").mkdir(parents=True)
    for name in ("a", "sub/b", "sub/.env", "ignored"):
        (other / name).write_text("1")
    (other / ".gitignore").write_text("ignored\n")
    (tmp_path / "third").mkdir()
    (tmp_path / "third/x").write_text("1")
    chat = make_chat(plugins=(Elsewhere,), core={"paths.allowed_roots": [str(other)]})

    def held(name: str, act: Callable[[], Any] = lambda: None) -> bool:
        Elsewhere.place = other / name
        Elsewhere.found.clear()
        chat.turn("go", act)
        return Elsewhere.found[0]

    assert held("a", lambda: (other / "a").write_text("2"))
    chat.rewind(chat.hashes()[1])
    assert (other / "a").read_text() == "1"
    assert held("sub/b")
    assert not held("ignored")
    assert not held("sub"), "what it leaves alone would be lost with the folder"
    (other / "sub/.env").unlink()
    assert held("sub")
    assert not held("../third/x"), "nobody may save what is not allowed"
