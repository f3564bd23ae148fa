"""``hookline run`` beside other plugins: what goes where, and with which exit code."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness, calls
from hookline_hookspecs import (
    Ask,
    Context,
    Conversations,
    Inbound,
    NoConfig,
    Plugin,
    Question,
    ToolOutput,
    hookimpl,
    tool,
)
from hookline_run import Run

MakeHarness = Callable[..., Harness]


class Talker(Plugin[NoConfig]):
    """Prints in its hooks, tells notices, fails, and asks before its tool runs."""

    @tool
    def knock(self) -> str:
        """Knock at the door."""
        return "Come in."

    @hookimpl
    def start_of_turn(self, ctx: Context, turn: Any) -> None:
        print("printed by a hook")
        ctx.notify("told by a hook")

    @hookimpl
    def pre_tool(self, ctx: Context, call: Any) -> Ask:
        return Ask("may I knock?")

    @hookimpl
    def on_message(self, ctx: Context, inbound: Inbound) -> Inbound:
        if inbound.text == "fail":
            raise ValueError("on purpose")
        return inbound

    @hookimpl
    def end_of_turn(self, ctx: Context, turn: Any) -> None:
        ctx.notify("after the end")


def lines(done: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_only_the_answer_goes_to_stdout(harness: MakeHarness) -> None:
    done = harness(Run, Talker, model=["The answer."]).cli("run hello")
    assert (done.exit_code, done.stdout) == (0, "The answer.\n")
    assert "printed by a hook" in done.stderr
    assert "[talker] told by a hook" in done.stderr


def test_json_output_ends_with_result(harness: MakeHarness) -> None:
    done = harness(Run, Talker, model=["The answer."]).cli("run hello --json --session s")
    types = [line["type"] for line in lines(done)]
    assert set(types[:-1]) == {"delta", "notice", "start"}
    assert types[-1] == "result"
    assert lines(done)[-1]["text"] == "The answer."
    assert {line["session"] for line in lines(done)} == {"s"}


@pytest.mark.parametrize(("option", "ok"), [("--yes", True), ("--no-input", False)])
def test_yes_and_no_input_options_answer_approvals(
    harness: MakeHarness, option: str, ok: bool
) -> None:
    h = harness(Run, Talker, model=[calls("knock"), "done"], answers=["Allow once"])
    done = h.cli(f"run hello --json {option}")
    (result,) = [line for line in lines(done) if line["type"] == "tool_result"]
    assert (done.exit_code, result["ok"]) == (0, ok)
    assert h.answers == ["Allow once"], "a person was asked"


def test_refused_message_exits_1(harness: MakeHarness) -> None:
    done = harness(Run, Talker, strict=False).cli("run fail --json")
    assert done.exit_code == 1
    assert lines(done)[-1]["stop"] == "denied"


@pytest.mark.parametrize("command", ["run ''", "run hello --session a/b", "run x --image absent"])
def test_wrong_usage_is_reported_on_stderr_and_as_json(harness: MakeHarness, command: str) -> None:
    done = harness(Run).cli(f"{command} --json")
    assert done.exit_code == 2
    assert [line["type"] for line in lines(done)] == ["error", "result"]
    assert done.stderr == f"hookline: {lines(done)[0]['text']}\n"


@pytest.mark.parametrize(
    ("kind", "said"), [("pipe", "a pipe"), ("folder", "a folder"), ("device", "a device"),
                       ("socket", "a socket"), ("huge", "smaller"), ("link", "a pipe")],
)  # fmt: skip
def test_non_picture_files_are_refused_at_once(
    harness: MakeHarness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, said: str
) -> None:
    """A pipe hung the program, and so did a device that never ends."""
    path = tmp_path / "x.png"
    if kind in ("pipe", "link"):
        os.mkfifo(tmp_path / "pipe")
        path = tmp_path / "pipe"
    if kind == "link":
        path = tmp_path / "x.png"
        path.symlink_to("pipe")
    if kind == "folder":
        path.mkdir()
    if kind == "device":
        path = Path("/dev/zero")
    if kind == "huge":
        path.write_bytes(b"\x89PNG\r\n\x1a\n")
        os.truncate(path, 1 << 40)
    with socket.socket(socket.AF_UNIX) as server:
        if kind == "socket":
            monkeypatch.chdir(tmp_path)  # the name of a socket is short
            server.bind(path.name)
        done = harness(Run).cli(f"run x --image {path}")
    assert done.exit_code == 2
    assert said in done.stderr


class Clarifier(Plugin[NoConfig]):
    """Ends the turn in a question."""

    @tool(read_only=True)
    def clarify(self) -> ToolOutput:
        """Ask the person."""
        return ToolOutput("Asked.", data=Question("Which one?", ("left", "right")))


def test_turn_ending_in_question_prints_choices(harness: MakeHarness) -> None:
    done = harness(Run, Clarifier, model=[calls("clarify")]).cli("run hello --json")
    question, result = lines(done)[-2:]
    assert (question["text"], question["choices"]) == ("Which one?", ["left", "right"])
    assert result["text"] == "Which one?\n1. left\n2. right\n3. Other"


@pytest.mark.parametrize("option", ["", "--json"])
def test_undelivered_reply_is_shown_before_next(
    harness: MakeHarness, tmp_path: Path, option: str
) -> None:
    first = harness(Run, home=tmp_path, model=["unseen"])
    inbound = Inbound("terminal", "default", "ann", "m1", "hello", session_id="s")
    talk = first.plugin(Run).host.services[Conversations]
    assert first.run(talk.submit(inbound, "no")).turn.reply == "unseen"
    first.close()
    second = harness(Run, home=tmp_path, model=["seen", "more"])
    done = second.cli(f"run again --session s {option}")
    assert "Finished from before: unseen" in done.stdout + done.stderr
    assert "Finished" not in second.cli(f"run more --session s {option}").stderr
    if option:
        notice = next(line for line in lines(done) if line["type"] == "notice")
        assert (notice["plugin"], notice["text"]) == ("core", "Finished from before: unseen")
    else:
        assert done.stdout == "seen\n"
