"""Slash commands of core, and when a session ends and the next one begins."""

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


def said(h: Any) -> list[str]:
    return [message.text for message in h.model.last.messages]


# What a command is


@pytest.mark.parametrize("text", ["/nothing", "/NoThing with words", "  /nope"])
def test_an_unknown_command_is_answered_and_not_sent_to_the_model(harness: Make, text: str) -> None:
    h = harness(Notes)
    outcome = h.send(text)
    assert outcome.stop == "command"
    assert text.split()[0] in outcome.text
    assert "/help" in outcome.text
    assert h.model.requests == []


@pytest.mark.parametrize("text", ["/etc/hosts is odd", "a /help", "/", "// comment", "/1 is one"])
def test_what_only_looks_like_a_command_goes_to_the_model(harness: Make, text: str) -> None:
    h = harness(Notes, model=["ok"])
    assert h.send(text).text == "ok"
    assert said(h) == [text]


def test_letter_case_does_not_matter_and_aliases_work(harness: Make) -> None:
    h = harness(Notes, model=["a"])
    assert h.send("/StandUp  all well ").text == "terminal: all well"
    assert h.send("/su").text == "terminal: nothing"
    h.send("x")
    assert h.send("/RESET").text == "New session."


@pytest.mark.parametrize("text", ["/standup\nall well", "/standup\tall well"])
def test_any_space_separates_a_command_from_its_words(harness: Make, text: str) -> None:
    h = harness(Notes)
    assert h.send(text).text == "terminal: all well"


def test_a_command_that_fails_tells_and_the_app_runs(harness: Make) -> None:
    h = harness(Notes, model=["a"], strict=False)
    assert h.send("/standup crash").text == "/standup failed: no voice"
    assert h.send("x").text == "a"


def test_help_lists_every_command_with_its_first_line(harness: Make) -> None:
    h = harness(Inspect, Notes)
    lines = h.send("/help").text.splitlines()
    names = {line.split(":")[0].split(" ")[0] for line in lines}
    core = "/help /new /stop /model /retry /undo /title /resume /queue /steer /whoami"
    assert names >= {*core.split(), "/status", "/usage", "/context", "/sessions", "/plugins"}
    assert "/standup (/su): Say what is up." in lines
    assert "/new (/reset): End this session and begin a new one." in lines


def test_whoami_and_plugins(harness: Make) -> None:
    h = harness(Inspect, Notes)
    assert h.send("/whoami").text == "terminal:tester in chat default"
    assert "notes on" in h.send("/plugins").text


# The session's commands


def test_status_usage_and_context_before_and_after_a_turn(harness: Make) -> None:
    h = harness(Inspect, Notes, model=[[calls("look")], "a"])
    assert h.send("/usage").text == "No model call yet."
    h.send("x")
    status = h.send("/status").text
    assert "Session test: 4 messages, idle" in status
    assert "Model: test/model" in status
    assert str(h.workspace) in status
    assert h.send("/usage").text.startswith("test/model (turn): 2 calls, 20 in (0 read")
    assert "in 4 messages" in h.send("/context").text


def test_title(harness: Make, tmp_path: Path) -> None:
    first = harness(Inspect, Notes, home=tmp_path / "one", model=["a"])
    first.send("x")
    assert first.send("/title").text == "Title: none yet"
    assert first.send("/title A fine day").text == "Title: A fine day"
    assert "Session test (A fine day)" in first.send("/status").text
    first.close()
    h = harness(Inspect, Notes, home=tmp_path / "one")
    assert h.send("/title").text == "Title: A fine day"


def test_model_is_shown_changed_and_kept(harness: Make, tmp_path: Path) -> None:
    first = harness(Notes, home=tmp_path / "one", model=["a", "b"])
    assert first.send("/model").text == "Model: test/model"
    first.send("x")
    assert first.send("/model test/other").text == "Model: test/other"
    first.send("y")
    assert [r.model for r in first.model.requests] == ["test/model", "test/other"]
    assert said(first) == ["x", "a", "y"]
    assert first.model.requests[0].system == first.model.requests[1].system
    first.close()
    h = harness(Notes, home=tmp_path / "one", model=["c"])
    h.send("z")
    assert h.model.last.model == "test/other"


@pytest.mark.parametrize("wrong", ["other", "nowhere/model"])
def test_a_model_that_cannot_be_used_is_refused_with_a_sentence(harness: Make, wrong: str) -> None:
    h = harness(Notes, model=["a"])
    assert wrong.split("/")[0] in h.send(f"/model {wrong}").text
    h.send("x")
    assert h.model.last.model == "test/model"


def test_undo_takes_whole_turns_back(harness: Make, tmp_path: Path) -> None:
    first = harness(Notes, home=tmp_path / "one", model=["a", [calls("look")], "b", "c"])
    first.send("x")
    first.send("y")
    assert "out of the conversation" in first.send("/undo").text
    first.send("z")
    assert said(first) == ["x", "a", "z"]
    assert first.send("/undo").text == first.send("/undo").text
    assert first.send("/undo").text == "There is no turn to undo."
    first.close()
    h = harness(Notes, home=tmp_path / "one", model=["d"])
    h.send("w")
    assert said(h) == ["w"]


def test_retry_runs_the_last_message_again_in_its_place(harness: Make) -> None:
    h = harness(Notes, model=["a", [calls("look")], "b", "c", "d"])
    h.send("x")
    h.send("y")
    outcome = h.send("/retry")
    assert (outcome.text, outcome.stop) == ("c", "done")
    assert said(h) == ["x", "a", "y"]
    h.send("z")
    assert said(h) == ["x", "a", "y", "c", "z"]


def test_retry_after_an_error(harness: Make) -> None:
    from hookline_hookspecs import Overloaded

    h = harness(Notes, model=[Overloaded("busy"), "a"])
    assert h.send("x").stop == "error"
    assert h.send("/retry").text == "a"
    assert said(h) == ["x"]


def test_retry_without_a_turn(harness: Make) -> None:
    assert harness(Notes).send("/retry").text == "There is no turn to run again."


# Sessions that end and begin


def test_new_begins_a_session_with_a_fresh_prompt(harness: Make) -> None:
    h = harness(Notes, model=["a", "b"])
    h.send("x", session=None)
    assert h.send("/new", session=None).text == "New session."
    outcome = h.send("y", session=None)
    assert said(h) == ["y"]
    before, after = h.model.requests
    assert before.system != after.system
    assert before.session_id != after.session_id == outcome.turn.session.id


def test_sessions_and_resume_in_a_chat(harness: Make) -> None:
    h = harness(Inspect, Notes, model=["a", "b", "c", "d"])
    old = h.send("x", session=None).turn.session.id
    h.send("/new", session=None)
    new = h.send("y", session=None).turn.session.id
    listed = h.send("/sessions", session=None).text
    assert old in listed
    assert new in listed
    assert h.send(f"/resume {old}", session=None).text == f"Session {old}."
    assert h.send("z", session=None).turn.session.id == old
    assert said(h) == ["x", "a", "z"]
    assert "/sessions" in h.send("/resume nothing", session=None).text
    assert "/sessions" in h.send("/resume", session=None).text


def test_a_chat_sees_its_own_sessions_only(harness: Make) -> None:
    async def go() -> None:
        await h.aopen()
        await h.channel.say("x", chat="a")
        (reply,) = await h.channel.replies(1)
        await h.channel.say("/sessions", chat="b")
        await h.channel.say(f"/resume {reply.session.id}", chat="b")
        await h.channel.replies(3)
        texts = [r.text for r in h.channel.sent[1:]]
        assert all(reply.session.id not in text for text in texts)

    h = harness(Notes, model=["a"])
    h.run(go())


IDLE, OLD = {"session.idle_hours": 2}, {"session.max_days": 3, "session.idle_hours": 1000}


@pytest.mark.parametrize("session", [None, "named"])
@pytest.mark.parametrize(("core", "step", "stays"), [(IDLE, 1.5, 3), (OLD, 20.0, 3)])
@pytest.mark.parametrize("restart", [False, True])
def test_a_session_ends_when_it_is_idle_or_old(
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
    assert len(said(h)) == 2 * stays - 1
    clock.forward(hours=step * 2)
    if restart:
        h.close()
        h = harness(Notes, model=["a"] * 9, **options)
    fresh = h.send("y", session=session).turn.session
    assert fresh.id != ids[0]
    assert said(h) == ["y"]
    assert [e.id for hook, e in h.hooks.fired if hook == "end_of_session"] == [ids[0]]
    assert h.send("z", session=session).turn.session.id == fresh.id
    assert said(h) == ["y", "a", "z"]
    if session is not None:
        assert fresh.id == "named~2"


def test_the_clock_of_idle_times_can_be_shifted_from_outside(python: Any) -> None:
    body = "import time; from hookline import clock; print(clock.now() - time.time())"
    done = python(body, HOOKLINE_CLOCK_OFFSET="86400")
    assert round(float(done.stdout)) == 86400, done.stderr
