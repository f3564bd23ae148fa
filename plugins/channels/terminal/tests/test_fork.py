"""``/fork``: going on in a copy of a session, which itself stays as it is."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.openai_server import OpenAIServer, Reply, Use
from support.terminal import TerminalScreen

pytestmark = pytest.mark.long
Chat = Callable[..., TerminalScreen]


@pytest.fixture
def server(env: dict[str, str]) -> Iterator[OpenAIServer]:
    """A model that repeats the last message, and writes TEXT into a.txt if it is "write TEXT"."""
    with OpenAIServer(_answer) as server:
        env["OPENAI_BASE_URL"], env["OPENAI_API_KEY"] = server.base_url, "test"
        env["HOOKLINE_MODEL"] = "openai/test"
        env["HOOKLINE_PLUGINS__TITLES"] = "false"
        yield server


@pytest.fixture
def screen(server: OpenAIServer, env: dict[str, str], work: Path) -> Iterator[TerminalScreen]:
    """``hookline chat`` on a terminal."""
    screen = TerminalScreen([sys.executable, "-m", "hookline", "chat"], env=env, cwd=work)
    screen.wait_for("›")
    yield screen
    screen.close()


def _answer(request: Any) -> Reply:
    said = _said(request)[-1]
    if said.startswith("write ") and request["messages"][-1]["role"] == "user":
        text = said.removeprefix("write ")
        return Reply(tools=[Use("write_file", {"path": "a.txt", "content": text})])
    return Reply(f"Answer to {said}.")


def _content(message: Any) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(p.get("text", "") for p in content)


def _said(request: Any) -> list[str]:
    """The first line of each message, without the system prompt."""
    said = [m for m in request["messages"] if m["role"] in ("user", "assistant") and m["content"]]
    return [_content(message).split("\n")[0] for message in said]


def _prompt(request: Any) -> tuple[str, Any]:
    """The part of a request that the session's messages follow."""
    return _content(request["messages"][0]), request.get("tools")


def _say(screen: TerminalScreen, text: str) -> None:
    screen.type(f"{text}\r")
    screen.wait_for(f"Answer to {text}.")


def _fork(screen: TerminalScreen, line: str = "/fork") -> tuple[str, str]:
    """Return the ids of the fork and of the session that it copies."""
    screen.type(f"{line}\r")
    screen.wait_for("Go back with /resume")
    screen.settle()
    found = re.search(r"in a fork, (\S+)\. Go back with /resume (\S+)\.", screen.text)
    assert found, screen.text
    return found[1], found[2]


def test_fork_goes_on_with_the_same_prompt_and_messages(
    server: OpenAIServer, screen: TerminalScreen
) -> None:
    _say(screen, "apples")
    before = server.requests[-1].json
    fork, original = _fork(screen)
    assert fork != original
    _say(screen, "pears")
    after = server.requests[-1].json
    assert _prompt(after) == _prompt(before)
    assert after["messages"][: len(before["messages"])] == before["messages"]
    assert _said(after) == ["apples", "Answer to apples.", "pears"]
    screen.type("\x04")
    assert screen.end() == 0
    assert f"hookline chat --session {fork}" in screen.text


def test_session_that_was_forked_stays_as_it_is(
    server: OpenAIServer, screen: TerminalScreen
) -> None:
    _say(screen, "apples")
    _fork_id, original = _fork(screen)
    _say(screen, "pears")
    screen.type(f"/resume {original}\r")
    screen.wait_for("It is about “apples”.")
    _say(screen, "plums")
    assert _said(server.requests[-1].json) == ["apples", "Answer to apples.", "plums"]


def test_message_typed_right_after_fork_belongs_to_the_fork(
    server: OpenAIServer, screen: TerminalScreen
) -> None:
    _say(screen, "apples")
    screen.type("/fork\r")
    # In one piece, both lines would be a paste.
    sent = re.compile(r"› /fork\s*\n(.*\n)*›\s*\n")
    screen.wait_until(lambda: sent.search(screen.text) is not None, "an empty line below")
    screen.type("pears\r")
    screen.wait_for("Answer to pears.")
    found = re.search(r"/resume (\d{8}-[0-9a-f]{8})", screen.text)
    assert found
    screen.type(f"/resume {found[1]}\r")
    screen.wait_for("It is about “apples”.")
    _say(screen, "plums")
    assert "pears" not in _said(server.requests[-1].json)


def test_fork_keeps_the_mode_and_takes_a_title(
    server: OpenAIServer, screen: TerminalScreen
) -> None:
    _say(screen, "apples")
    screen.type("/mode plan\r")
    screen.wait_for("plan")
    _fork(screen, "/fork Second try")
    screen.type("/title\r")
    screen.wait_for("Title: Second try")
    screen.type("/mode\r")
    screen.settle()
    shown = screen.text.rpartition("› /mode")[2]
    assert "plan" in shown.split("\n›")[0], screen.text


def test_fork_of_session_without_messages_says_so(screen: TerminalScreen) -> None:
    screen.type("/fork\r")
    screen.wait_for("Nothing to fork yet")


@pytest.mark.parametrize(("columns", "rows"), [(40, 20), (120, 40)])
def test_undo_in_a_fork_leaves_the_original_session_as_it_is(
    server: OpenAIServer, env: dict[str, str], work: Path, columns: int, rows: int
) -> None:
    argv = [sys.executable, "-m", "hookline", "chat"]
    with TerminalScreen(argv, env=env, cwd=work, columns=columns, rows=rows) as screen:
        screen.wait_for("›")
        _say(screen, "apples")
        screen.type("/fork\r")
        screen.wait_until(lambda: "/resume" in screen.text, "how to go back")
        screen.settle()
        assert all(len(line) <= columns for line in screen.lines)
        _fork_id, original = re.findall(r"\d{8}-[0-9a-f]{8}", screen.text)
        _say(screen, "pears")
        screen.type("/undo\r")
        screen.wait_for("Removed the last turn")
        _say(screen, "plums")
        said = _said(server.requests[-1].json)
        assert said == ["apples", "Answer to apples.", "plums"]
        screen.type(f"/resume {original}\r")
        screen.wait_for("apples”.")
        _say(screen, "figs")
        assert _said(server.requests[-1].json) == ["apples", "Answer to apples.", "figs"]


def test_rewind_in_a_fork_leaves_the_original_session_as_it_is(
    server: OpenAIServer, screen: TerminalScreen, work: Path
) -> None:
    _say(screen, "write one")
    _fork_id, original = _fork(screen)
    _say(screen, "write two")
    assert (work / "a.txt").read_text() == "two"
    screen.type("/rewind\r")
    screen.wait_for("+1 ~0 -0  write one")
    screen.settle()
    found = re.search(r"^ *([0-9a-f]{10})  .*write two$", screen.text, re.MULTILINE)
    assert found, screen.text
    screen.type(f"/rewind {found[1]}\r")
    screen.wait_for("The conversation loses 1 turn")
    screen.wait_for("1. Files and conversation")
    screen.type("1\r")
    screen.wait_for("Removed from the conversation: 1 turn.")
    screen.wait_for("To undo this: /rewind")
    assert (work / "a.txt").read_text() == "one"
    _say(screen, "plums")
    after = ["write one", "Answer to write one.", "plums"]
    assert _said(server.requests[-1].json) == after
    screen.type(f"/resume {original}\r")
    screen.wait_for("It is about “write one”.")
    _say(screen, "figs")
    assert _said(server.requests[-1].json) == [*after[:2], "figs"]
