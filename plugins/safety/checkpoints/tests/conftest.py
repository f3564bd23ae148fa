"""A person, a workspace, and a model whose tool runs a function of the test."""

# Names here are bytes, which pathlib does not take.
# ruff: noqa: PTH101, PTH103, PTH108, PTH115, PTH118, PTH120, PTH123, PTH208

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness, calls
from hookline.testing.harness import Outcome
from hookline_checkpoints import Checkpoints
from hookline_hookspecs import Plugin, tool
from hookline_hookspecs.plugin import NoConfig

Tree = dict[bytes, tuple[int, bytes]]


class Hands(Plugin[NoConfig]):
    """Tools that change the workspace as the test wants."""

    todo: Callable[[], Any] = staticmethod(lambda: None)

    @tool
    def act(self, path: str = "", workdir: str = "") -> str:
        """Change something."""
        type(self).todo()
        return "acted"

    @tool(read_only=True)
    def look(self) -> str:
        """Change nothing."""
        return "looked"


def tree_of(root: Path) -> Tree:
    """Everything below ``root``: mode, and content, link target, or nothing for a folder."""
    found: Tree = {}
    pending = [os.fsencode(root)]
    while pending:
        folder = pending.pop()
        for name in os.listdir(folder):
            path = folder + b"/" + name
            mode = os.lstat(path).st_mode
            content = b""
            if stat.S_ISDIR(mode):
                pending.append(path)
            elif stat.S_ISLNK(mode):
                content = os.readlink(path)
            elif stat.S_ISREG(mode):
                with open(path, "rb") as stream:
                    content = stream.read()
            found[os.path.relpath(path, os.fsencode(root))] = (mode, content)
    return found


class WorkspaceChat:
    """A chat on a workspace; another chat on the same home is another process or chat."""

    def __init__(self, make: Callable[..., Harness], home: Path, work: Path, **options: Any):
        work.mkdir(parents=True, exist_ok=True)
        self.work = work
        self.home = home
        config = {"checkpoints": options.pop("config", {})}
        plugins = (*options.pop("plugins", ()), Checkpoints, Hands)
        self.harness = make(*plugins, home=home, workspace=work, config=config, **options)

    def put(self, name: str | bytes, content: str | bytes = "", mode: int | None = None) -> None:
        """Write a file; folders are made."""
        path = os.path.join(os.fsencode(self.work), os.fsencode(name))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.lexists(path):
            os.unlink(path)
        with open(path, "wb") as stream:
            stream.write(content.encode() if isinstance(content, str) else content)
        if mode is not None:
            os.chmod(path, mode)

    def turn(
        self, title: str = "do it", act: Callable[[], Any] = lambda: None, **arguments: Any
    ) -> Outcome:
        """A turn in which the model calls the tool once, which does ``act``."""
        Hands.todo = staticmethod(act)
        self.harness.model.steps += [calls("act", **arguments), "done"]
        return self.say(title)

    def say(self, text: str, **options: Any) -> Outcome:
        """The outcome of a message or command."""
        return self.harness.send(text, **options)

    def rewind(self, args: str = "") -> str:
        """The reply to ``/rewind`` without a question."""
        return self.say(f"/rewind {args}".strip(), approve="no").text

    def hashes(self) -> list[str]:
        """The ids that the list shows, newest first."""
        return re.findall(r"^([0-9a-f]{10})  ", self.rewind(), re.MULTILINE)

    def warnings(self, outcome: Outcome) -> list[str]:
        """The plugin's notices to the person."""
        return [one.text for one in outcome.notices if one.plugin == "checkpoints"]

    @property
    def tree(self) -> Tree:
        """The content of the workspace."""
        return tree_of(self.work)


def undo_of(answer: str) -> str:
    """The id by which a rewind says it can be undone."""
    found = re.search(r"^To undo this: /rewind ([0-9a-f]+)$", answer, re.MULTILINE)
    assert found, answer
    return found[1]


@pytest.fixture
def make_chat(harness: Callable[..., Harness], tmp_path: Path) -> Callable[..., WorkspaceChat]:
    """Makes desks, by default all on one home and one workspace."""

    def make(**options: Any) -> WorkspaceChat:
        home = options.pop("home", tmp_path / "home")
        work = options.pop("work", tmp_path / "work")
        return WorkspaceChat(harness, home, work, **options)

    return make


@pytest.fixture
def chat(make_chat: Callable[..., WorkspaceChat]) -> WorkspaceChat:
    """A chat with the default settings."""
    return make_chat()
