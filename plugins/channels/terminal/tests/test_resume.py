"""Resuming earlier sessions: what the model reads, and what a person sees and presses."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.openai_server import OpenAIServer, Reply
from support.terminal import TerminalScreen

WIDTHS = [80, *(pytest.param(columns, marks=pytest.mark.slow) for columns in (40, 160))]
Chat = Callable[..., TerminalScreen]


@pytest.fixture
def server(env: dict[str, str]) -> Iterator[OpenAIServer]:
    """A model that repeats the last message."""
    with OpenAIServer(lambda request: Reply(f"Answer to {_last(request)}.")) as server:
        env["OPENAI_BASE_URL"], env["OPENAI_API_KEY"] = server.base_url, "test"
        env["HOOKLINE_MODEL"] = "openai/test"
        env["HOOKLINE_PLUGINS__TITLES"] = "false"
        yield server


@pytest.fixture
def chat(env: dict[str, str], work: Path) -> Iterator[Chat]:
    """Starts ``hookline chat ARGUMENTS`` on a terminal."""
    started: list[TerminalScreen] = []

    def start(*arguments: str, columns: int = 80, cwd: Path = work) -> TerminalScreen:
        argv = [sys.executable, "-m", "hookline", "chat", *arguments]
        started.append(TerminalScreen(argv, env=env, cwd=cwd, columns=columns))
        started[-1].wait_for("›" if "--resume" not in arguments else " ")
        return started[-1]

    yield start
    for screen in started:
        screen.close()


def _last(request: Any) -> str:
    return re.split(r"\n", _texts(request)[-1])[0]


def _texts(request: Any) -> list[str]:
    """What was said in a request, without the system prompt."""
    found = []
    for message in request["messages"]:
        content = message["content"]
        text = content if isinstance(content, str) else "".join(p.get("text", "") for p in content)
        if message["role"] in ("user", "assistant"):
            found.append(text.split("\n\n<context>")[0])
    return found


def _say(screen: TerminalScreen, text: str) -> None:
    screen.type(f"{text}\r")
    screen.wait_for(f"Answer to {text}.")


def _open_at_the_end(screen: TerminalScreen) -> str:
    screen.settle()
    screen.type("\x04")
    assert screen.end() == 0
    found = re.search(r"Continue with: hookline chat --session (\S+)", screen.text)
    return found[1] if found else ""


@pytest.mark.slow
def test_resume_switches_to_session_and_stays_there(server: OpenAIServer, chat: Chat) -> None:
    screen = chat()
    _say(screen, "apples")
    screen.type("/new\r")
    screen.wait_for("New session.")
    first = re.search(r"/resume (\d{8}-[0-9a-f]{8})", screen.text)
    assert first
    _say(screen, "pears")
    # What is typed right after the command belongs to the session it goes to.
    screen.type(f"/resume {first[1]}\r")
    time.sleep(0.1)  # in one piece, both lines would be a paste
    screen.type("plums\r")
    screen.wait_for("It is about “apples”.")
    screen.wait_for("Answer to plums.")
    expected = ["apples", "Answer to apples.", "plums"]
    assert _texts(server.requests[-1].json) == expected
    assert screen.text.count("› apples") == 2  # as it was said, and as what was said last
    assert _open_at_the_end(screen) == first[1]


@pytest.mark.slow
def test_picker_searches_previews_and_resumes(server: OpenAIServer, chat: Chat) -> None:
    screen = chat()
    _say(screen, "apples")
    screen.type("/new\r")
    screen.wait_for("New session.")
    _say(screen, "pears")
    screen.type("/resume\r")
    screen.wait_for("type to search")
    screen.wait_for("  Answer to pears.")
    screen.type("\x1b[B")
    screen.wait_for("  Answer to apples.")
    screen.type("\x1b")
    screen.wait_until(lambda: "type to search" not in screen.text, "the picker closed by Esc")
    screen.type("/resume\r")
    screen.wait_for("type to search")
    screen.type("appl")
    screen.wait_until(lambda: "pears  " not in screen.text, "only what holds the words")
    screen.type("\r")
    screen.wait_for("It is about “apples”.")
    _say(screen, "plums")
    assert _texts(server.requests[-1].json)[0] == "apples"


@pytest.mark.slow
@pytest.mark.parametrize("columns", WIDTHS)
def test_continue_and_resume_options_reopen_session(
    server: OpenAIServer, chat: Chat, work: Path, columns: int
) -> None:
    screen = chat(columns=columns)
    _say(screen, "apples")
    session = _open_at_the_end(screen)
    screen = chat("--continue", columns=columns)
    screen.wait_for("Answer to apples.")
    screen.settle()
    assert b"\x1b[2m\xe2\x80\xba apples" in screen.raw  # dim
    _say(screen, "pears")
    assert _texts(server.requests[-1].json) == ["apples", "Answer to apples.", "pears"]
    assert _open_at_the_end(screen) == session
    screen = chat("--resume", columns=columns)
    screen.wait_for("Answer to pears.")
    screen.type("\r")
    screen.wait_until(lambda: "type to search" not in screen.text, "the chat")
    screen.wait_for("› pears")
    screen.settle()
    _say(screen, "plums")
    assert len(_texts(server.requests[-1].json)) == 5


@pytest.mark.slow
def test_continue_line_reopens_an_old_session(
    server: OpenAIServer, chat: Chat, env: dict[str, str]
) -> None:
    screen = chat()
    _say(screen, "apples")
    session = _open_at_the_end(screen)
    env["HOOKLINE_CLOCK_OFFSET"] = str(40 * 86_400)
    screen = chat("--session", session)
    screen.wait_for("Answer to apples.")
    screen.settle()
    _say(screen, "pears")
    assert len(_texts(server.requests[-1].json)) == 3


@pytest.mark.slow
def test_chat_without_messages_prints_no_continue_line(server: OpenAIServer, chat: Chat) -> None:
    screen = chat()
    screen.type("/whoami\r")
    screen.wait_for("terminal:")
    assert _open_at_the_end(screen) == ""


@pytest.mark.slow
def test_unknown_session_gives_an_error_sentence(
    server: OpenAIServer, env: dict[str, str], work: Path
) -> None:
    def hookline(*arguments: str) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-m", "hookline", *arguments]
        return subprocess.run(
            argv, env=env, cwd=work, capture_output=True, encoding="utf-8", timeout=60, input=""
        )

    nothing = hookline("chat", "--continue")
    assert nothing.returncode == 2
    assert "no session in" in nothing.stderr
    hookline("run", "--session", "work-a", "apples")
    hookline("run", "--session", "work-b", "pears")
    several = hookline("chat", "--resume", "work")
    assert several.returncode == 2
    assert "2 sessions begin with work" in several.stderr
    assert "apples" in several.stderr
    assert "picking a session needs a terminal" in hookline("chat", "--resume").stderr
    assert "use only one of" in hookline("chat", "--resume", "work-a", "--continue").stderr
    assert "hookline run 'apples'" in hookline("chat", "apples").stderr
