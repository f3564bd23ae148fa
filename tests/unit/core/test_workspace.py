"""A message may name the folder that tools work in (``Inbound.workspace``)."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import calls
from hookline_hookspecs import Context, Inbound, Plugin, ToolError, command, tool
from hookline_hookspecs.plugin import NoConfig

Make = Callable[..., Any]


class Where(Plugin[NoConfig]):
    """Reports its workspace."""

    @tool(read_only=True)
    def where(self, ctx: Context) -> str:
        """Say where you work."""
        return str(ctx.paths.workspace)

    @command("/where")
    def say(self, ctx: Context, args: str) -> str:
        """Say where you work."""
        return str(ctx.paths.workspace)


def ask(h: Any, text: str, folder: Path | None) -> Any:
    async def submit() -> Any:
        runtime = await h.aopen()
        number = str(len(h.model.requests))
        inbound = Inbound("editor", "one", "me", f"{text} {number}", text, workspace=folder)
        done = await runtime.dispatcher.submit(inbound, "no")
        await done.mark_delivered()
        return done.turn

    return h.run(submit())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    return made.resolve()


def test_message_workspace_reaches_tools_commands_and_prompt(harness: Make, folder: Path) -> None:
    h = harness(Where, model=[[calls("where")], "ok", [calls("where")], "ok"])

    (result,) = ask(h, "go", folder).tool_calls
    assert result.text == str(folder)
    assert f"Workspace: {folder}" in h.model.requests[0].system
    assert ask(h, "/where", folder).reply == str(folder)

    (later,) = ask(h, "again", folder).tool_calls
    assert later.text == str(folder)
    assert "The workspace is now" not in h.model.requests[2].messages[-1].context


def test_model_is_told_about_a_changed_workspace(harness: Make, folder: Path) -> None:
    h = harness(Where, model=["ok", [calls("where")], "ok"])
    other = folder / "other"
    other.mkdir()
    ask(h, "go", folder)

    (result,) = ask(h, "again", other).tool_calls

    assert result.text == str(other)
    assert f"The workspace is now {other}." in h.model.requests[1].messages[-1].context


def test_workspace_is_kept_for_the_first_command_after_restart(
    harness: Make, folder: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    first = harness(Where, home=home, model=["ok"])
    ask(first, "go", folder)
    first.close()
    again = harness(Where, home=home)
    assert ask(again, "/where", folder).reply == str(folder)


CRASHING = """
import sys
from pathlib import Path
from hookline.testing import Harness, calls
from hookline_hookspecs import Inbound, Plugin, tool
from hookline_hookspecs.plugin import NoConfig

class Where(Plugin[NoConfig]):
    @tool(read_only=True)
    def where(self) -> str:
        "Say where you work."

h = Harness(Where, home=Path(sys.argv[1]), model=[[calls("where")]])
async def go():
    runtime = await h.aopen()
    inbound = Inbound("editor", "one", "me", "1", "go", workspace=Path(sys.argv[2]))
    await runtime.dispatcher.submit(inbound, "no")
h.run(go())
"""


@pytest.mark.slow
def test_resumed_turn_keeps_its_workspace(
    harness: Make, python: Any, folder: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    died = python(CRASHING, str(home), str(folder), HOOKLINE_CRASH_AT="after-model")
    assert died.returncode == -signal.SIGKILL, died.stderr
    h = harness(Where, home=home, model=["taken up", "next"])
    ask(h, "and now?", None)
    assert h.model.requests[0].messages[-1].blocks[0].text == str(folder)


class Mover(Plugin[NoConfig]):
    """Moves its workspace, and reads in it."""

    @tool
    def move(self, ctx: Context, to: str) -> str:
        """Move."""
        ctx.paths.workspace.rename(to)
        return "moved"

    @tool(read_only=True)
    def look(self, ctx: Context) -> str:
        """Look."""
        try:
            return (ctx.paths.workspace / "a").read_text()
        except OSError as error:
            raise ToolError(str(error.strerror)) from error


def test_a_workspace_that_was_moved_is_told_once_and_found_again(
    harness: Make, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    steps = [calls("look"), calls("move", to=str(elsewhere)), calls("look"), "It is away."]
    h = harness(Mover, model=steps)
    h.workspace.mkdir(parents=True)
    (h.workspace / "a").write_text("here")
    moved = h.send("move it")
    before, moving, after = moved.tool_calls
    assert before.text == "here"
    assert "does not exist any more" in moving.text
    assert str(h.workspace) in after.text
    assert "does not exist any more" in after.text
    told = [one.text for one in moved.notices if "does not exist any more" in one.text]
    assert len(told) == 1
    assert "hookline chat --continue" in told[0]
    h.model.steps += ["Still away.", calls("look"), "Here."]
    assert not h.send("and now?").notices
    assert "does not exist any more" in h.model.requests[-1].messages[-1].context
    elsewhere.rename(h.workspace)
    again = h.send("I have put it back")
    assert "exists again" in h.model.requests[-2].messages[-1].context
    assert again.tool_calls[0].text == "here"


def test_a_chats_own_folder_is_created_again(harness: Make) -> None:
    h = harness(
        Where, core={"workspace": "."}, model=[calls("where"), "there", calls("where"), "there"]
    )
    own = Path(ask(h, "first", None).messages[2].blocks[0].text)
    own.rmdir()
    ask(h, "second", None)
    assert own.is_dir()
    assert "it is empty now" in str(h.model.requests[-1].messages)
