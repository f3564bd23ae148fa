"""In `auto`, what a tool declares to destroy outside the workspace is put before a person."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness, calls
from hookline_hookspecs import (
    Checkpoints,
    Context,
    Effect,
    Host,
    Modes,
    Plugin,
    ToolCall,
    hookimpl,
    tool,
)
from hookline_permissions import Permissions
from hookline_sandbox import Found, Method

MakeHarness = Callable[..., Harness]


class Hands(Plugin):
    """Tools that write, move and delete, and say so."""

    def writes(self, ctx: Context, call: ToolCall) -> list[Effect]:
        return [Effect("write", call.arguments["path"])]

    def moves(self, ctx: Context, call: ToolCall) -> list[Effect]:
        return [Effect("delete", call.arguments["source"]), Effect("write", call.arguments["to"])]

    @tool(effects=writes)
    def write(self, path: str, content: str) -> str:
        """Write."""
        Path(path).write_text(content)
        return "written"

    @tool(effects=moves)
    def move(self, source: str, to: str) -> str:
        """Move."""
        Path(source).rename(to)
        return "moved"


class Saving(Plugin):
    """Stands for the checkpoints: holds what the test says."""

    held: tuple[str, ...] = ()

    @hookimpl
    def setup(self, host: Host) -> None:
        host.services.provide(Checkpoints, self)

    async def hold(self, ctx: Context, place: Path | None = None, *, history: bool = False) -> bool:
        return place is not None and place.name in self.held


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """A folder beside the workspace, with a file in it."""
    folder = tmp_path / "other"
    folder.mkdir()
    (folder / "old.txt").write_text("old\n")
    return folder


def act(h: Harness, name: str, approve: str = "ask", **arguments: Any) -> str:
    """The result of one call."""
    h.model.steps += [calls(name, **arguments), "done"]
    return h.send("go", approve=approve).tool_calls[0].text


def test_writing_over_a_file_is_asked_about_as_a_diff(harness: MakeHarness, other: Path) -> None:
    h = harness(Permissions, Hands, answers=["Deny", "Allow once"])
    old = str(other / "old.txt")
    assert act(h, "write", path=old, content="new\n").startswith("Denied: ")
    assert (other / "old.txt").read_text() == "old\n"
    assert act(h, "write", path=old, content="new\n") == "written"
    first, _ = h.questions
    assert f"replaces {old!r} outside the workspace" in first.text


def test_what_is_new_or_in_the_workspace_is_not(harness: MakeHarness, other: Path) -> None:
    h = harness(Permissions, Hands)
    h.workspace.mkdir(parents=True)
    (h.workspace / "a.txt").write_text("a")
    assert act(h, "write", path=str(other / "new.txt"), content="") == "written"
    assert act(h, "write", path=str(h.workspace / "a.txt"), content="b") == "written"
    (h.workspace / "link").symlink_to(other)
    a, link = str(h.workspace / "a.txt"), str(h.workspace / "link")
    assert act(h, "move", source=link, to=str(h.workspace / "l")) == "moved"
    assert act(h, "move", source=a, to=str(other / "b.txt")) == "moved"
    assert h.questions == []


def test_a_link_that_leads_outside_is_no_way_around(harness: MakeHarness, other: Path) -> None:
    h = harness(Permissions, Hands, answers=["Deny"] * 3)
    h.workspace.mkdir(parents=True)
    (h.workspace / "link").symlink_to(other)
    (h.workspace / "l.txt").symlink_to(other / "old.txt")
    for path in ("link/old.txt", "l.txt"):
        assert act(h, "write", path=str(h.workspace / path), content="x").startswith("Denied: ")
    source = str(h.workspace / "link/old.txt")
    assert act(h, "move", source=source, to=str(h.workspace / "x")).startswith("Denied: ")
    assert (other / "old.txt").read_text() == "old\n"


def test_moving_is_deleting_here_and_replacing_there(harness: MakeHarness, other: Path) -> None:
    h = harness(Permissions, Hands, answers=["Deny"])
    (other / "b").write_text("b")
    old, b = str(other / "old.txt"), str(other / "b")
    assert act(h, "move", source=old, to=b).startswith("Denied: ")
    assert f"deletes {old!r}, and replaces {b!r}" in h.questions[0].text


def test_with_nobody_there_it_is_refused_in_words_for_people(
    harness: MakeHarness, other: Path
) -> None:
    h = harness(Permissions, Hands)
    old = str(other / "old.txt")
    h.model.steps += [calls("write", path=old, content=""), "done"]
    outcome = h.send("go", approve="no")
    assert outcome.notices[0].text == (
        f"write was refused: write replaces {old!r} outside the workspace; no one can approve it."
    )
    assert (other / "old.txt").read_text() == "old\n"


def test_what_a_checkpoint_holds_is_not_asked_about(harness: MakeHarness, other: Path) -> None:
    h = harness(Permissions, Hands, Saving, answers=["Deny"])
    h.plugin(Saving).held = ("old.txt",)
    (other / "b").write_text("b")
    assert act(h, "write", path=str(other / "old.txt"), content="new") == "written"
    assert h.questions == []
    assert act(h, "write", path=str(other / "b"), content="").startswith("Denied: ")


def test_ask_and_plan_are_as_strict_as_before(harness: MakeHarness, other: Path) -> None:
    h = harness(Permissions, Hands, Saving, answers=["Deny"])
    h.plugin(Saving).held = ("old.txt",)
    arguments = {"path": str(other / "old.txt"), "content": "new"}
    h.send("/mode ask")
    assert act(h, "write", **arguments).startswith(
        "Denied: it may change something, so it needs a yes (mode ask)"
    )
    h.send("/mode plan")
    assert act(h, "write", **arguments).startswith("Denied: plan mode: ")


def test_yolo_answers_for_no_file_outside(
    harness: MakeHarness, other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = Found(Method.BUBBLEWRAP, "", "")
    monkeypatch.setattr("hookline_sandbox.found", lambda: here)
    h = harness(Permissions, Hands)
    h.run(h.runtime.engine.services[Modes].set("test", "yolo"))
    old = str(other / "old.txt")
    assert act(h, "write", approve="no", path=old, content="x").startswith("Denied: ")
    assert (other / "old.txt").read_text() == "old\n"
    assert act(h, "write", approve="no", path=str(other / "new"), content="x") == "written"
