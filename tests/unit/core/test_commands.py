"""Slash commands, and when one session ends and the next begins."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import calls
from hookline_hookspecs import Plugin, Section, Session, command, hookimpl, tool
from hookline_hookspecs.plugin import NoConfig
from hookline_inspect import Inspect

Make = Callable[..., Any]


class Notes(Plugin[NoConfig]):
    """A section that differs in each session, a tool and a command."""

    made = 0

    @hookimpl
    def system_prompt(self, ctx: Any, session: Session) -> Section:
        Notes.made += 1
        return Section("memory", f"NUMBER {Notes.made}")

    @tool(read_only=True)
    def look(self) -> str:
        """Look."""
        return "seen"

    @command("/standup", aliases=("/su",))
    async def standup(self, ctx: Any, args: str) -> str:
        """Say what is up.

        This line is no help.
        """
        if args == "crash":
            raise ValueError("no voice")
        return f"{ctx.channel}: {args or 'nothing'}"


def sent_texts(h: Any) -> list[str]:
    return [message.text for message in h.model.last.messages]


# What a command is


@pytest.mark.parametrize("text", ["/nothing", "/NoThing with words", "  /nope"])
def test_unknown_command_gets_reply_without_the_model(harness: Make, text: str) -> None:
    h = harness(Notes)
    outcome = h.send(text)
    assert outcome.stop == "command"
    assert text.split()[0] in outcome.text
    assert "/help" in outcome.text
    assert h.model.requests == []


@pytest.mark.parametrize("text", ["/etc/hosts is odd", "a /help", "/", "// comment", "/1 is one"])
def test_text_with_a_slash_that_is_not_a_command_goes_to_the_model(
    harness: Make, text: str
) -> None:
    h = harness(Notes, model=["ok"])
    assert h.send(text).text == "ok"
    assert sent_texts(h) == [text]


def test_command_ignores_letter_case_and_accepts_aliases(harness: Make) -> None:
    h = harness(Notes, model=["a"])
    assert h.send("/StandUp  all well ").text == "terminal: all well"
    assert h.send("/su").text == "terminal: nothing"
    h.send("x")
    assert h.send("/RESET").text.startswith("New session.")


@pytest.mark.parametrize("text", ["/standup\nall well", "/standup\tall well"])
def test_command_arguments_follow_any_whitespace(harness: Make, text: str) -> None:
    h = harness(Notes)
    assert h.send(text).text == "terminal: all well"


def test_failing_command_replies_with_its_error(harness: Make) -> None:
    h = harness(Notes, model=["a"], strict=False)
    assert h.send("/standup crash").text == "/standup failed: no voice (plugin notes)"
    assert h.send("x").text == "a"


def test_status_usage_and_context_commands_before_and_after_a_turn(harness: Make) -> None:
    h = harness(Inspect, Notes, model=[[calls("look")], "a"])
    assert h.send("/status", session=None).text.startswith("New session · 0 messages · no turn")
    assert h.send("/usage").text == "No model call yet."
    h.send("x")
    status = h.send("/status").text
    assert "Session test · 4 messages · no turn is running" in status
    assert "Model: test/model" in status
    assert str(h.workspace) in status
    assert h.send("/usage").text.startswith("test/model (turn) · 2 model calls · 20 tokens in (0")
    assert "Messages · " in h.send("/context").text


# Sessions that end and begin


IDLE, OLD = {"session.idle_hours": 2}, {"session.max_days": 3, "session.idle_hours": 1000}


@pytest.mark.parametrize("session", [None, "named"])
@pytest.mark.parametrize(("core", "step", "stays"), [(IDLE, 1.5, 3), (OLD, 20.0, 3)])
@pytest.mark.parametrize("restart", [False, True])
def test_session_ends_when_idle_or_old(
    harness: Make,
    clock: Any,
    tmp_path: Path,
    session: str | None,
    core: dict[str, Any],
    step: float,
    stays: int,
    restart: bool,
) -> None:
    options = {"home": tmp_path / "one", "core": core}
    h = harness(Notes, model=["a"] * 9, **options)
    ids = []
    for _ in range(stays):
        ids.append(h.send("x", session=session).turn.session.id)
        clock.forward(hours=step)
    assert len(set(ids)) == 1
    assert len(sent_texts(h)) == 2 * stays - 1
    clock.forward(hours=step * 2)
    if restart:
        h.close()
        h = harness(Notes, model=["a"] * 9, **options)
    fresh = h.send("y", session=session).turn.session
    assert fresh.id != ids[0]
    assert sent_texts(h) == ["y"]
    assert [e.id for hook, e in h.hooks.fired if hook == "end_of_session"] == [ids[0]]
    assert h.send("z", session=session).turn.session.id == fresh.id
    assert sent_texts(h) == ["y", "a", "z"]
    if session is not None:
        assert fresh.id == "named~2"


def test_clock_offset_variable_shifts_the_clock(python: Any) -> None:
    body = "import time; from hookline import clock; print(clock.now() - time.time())"
    done = python(body, HOOKLINE_CLOCK_OFFSET="86400")
    assert round(float(done.stdout)) == 86400, done.stderr
