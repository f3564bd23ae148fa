"""``hookline run`` on a terminal, and while a provider makes it wait."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.openai_server import OpenAIServer, Reply, Use
from support.terminal import TerminalScreen

PRICES = "{date: 2026-10-01, models: {openai/gpt-5: {input: 1000, output: 2000}}}"
ANSWER = "# Done\n\nTwo **tests** pass.\n\n- one\n- two\n\n```py\nprint('x')\n```\n\nThe end.\n"
BUSY = {"error": {"message": "slow down", "type": "rate_limit_error"}}


def busy(seconds: str) -> Reply:
    return Reply(status=429, body=BUSY, headers={"retry-after": seconds})


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "config.yaml").write_text("plugins: {titles: false}\n", "utf-8")
    (tmp_path / "home" / "prices.yaml").write_text(PRICES, "utf-8")
    return tmp_path / "home"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A folder with a file to edit."""
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "stats.py").write_text("def half(n):\n    return n - 1\n", "utf-8")
    return tmp_path / "work"


@pytest.fixture
def serve() -> Iterator[Any]:
    started: list[OpenAIServer] = []

    def start(*script: Any) -> OpenAIServer:
        started.append(OpenAIServer(script).__enter__())
        return started[-1]

    yield start
    for server in started:
        server.__exit__()


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "hookline", "run", "--model", "openai/gpt-5", *words]


def environment(home: Path, server: OpenAIServer) -> dict[str, str]:
    own = {"OPENAI_API_KEY": "test", "OPENAI_BASE_URL": server.base_url, "PYTHONUTF8": "1"}
    return {**os.environ, "HOOKLINE_HOME": str(home), **own}


@pytest.mark.slow
@pytest.mark.parametrize("columns", [80, 40])
def test_reply_is_rendered_on_a_terminal(home: Path, serve: Any, columns: int) -> None:
    server = serve(busy("1"), Reply(ANSWER, pace=0.01))
    with TerminalScreen(
        command("hello"), env=environment(home, server), cwd=home, columns=columns
    ) as screen:
        screen.wait_for("rate-limited by openai; trying again")
        screen.wait_for("The end.")
        screen.settle()
        text = "\n".join(line.rstrip() for line in screen.lines)
    assert "Two tests pass." in text
    assert "   • one\n   • two" in text
    assert "**" not in text
    assert "```" not in text
    assert text.count("The end.") == 1
    assert "trying again" not in text


EDIT = {"path": "stats.py", "old_string": "n - 1", "new_string": "n"}
FIX = (
    Reply("The `- 1` is wrong.", tools=[Use("edit_file", EDIT)]),
    Reply(tools=[Use("bash", {"command": "cat missing.txt"})]),
    Reply("Fixed: the mean is right now.", pace=0.02),
)


@pytest.mark.long
@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (120, 40), (40, 20)])
def test_turn_looks_as_in_the_chat(
    home: Path, work: Path, serve: Any, columns: int, rows: int
) -> None:
    env = environment(home, serve(*FIX))
    argv = command("Fix it", "--mode", "ask")
    with TerminalScreen(argv, env=env, cwd=work, columns=columns, rows=rows) as screen:
        screen.wait_for("· ctrl-c stops")
        for _ in range(2):
            screen.wait_for("Deny\n")
            screen.settle()
            screen.type("1\r")
            screen.wait_until(lambda: "Deny\n" not in screen.text, "the end of the question")
        screen.wait_for("the mean is right")
        assert screen.end() == 0
        shown = screen.scrollback
    words = " ".join(shown.split())
    assert "  The - 1 is wrong.\n" in shown
    assert "✓ edit_file stats.py" in words
    assert "+1 -1 ·" in words
    assert "  2 -     return n - 1\n  2 +     return n\n" in shown
    assert "✗ bash cat miss" in words
    assert "exit code 1 ·" in words
    assert words.count("Fixed: the mean is right now.") == 1
    assert "ctrl-o" not in shown
    assert "stops" not in shown, "the changing rows are gone"


@pytest.mark.long
def test_growing_paragraph_is_shown_before_it_ends(home: Path, serve: Any) -> None:
    answer = " ".join(f"word{number}" for number in range(40))
    env = environment(home, serve(Reply(answer, pace=0.1)))
    with TerminalScreen(command("hello"), env=env, cwd=home) as screen:
        screen.wait_for("word3")
        assert "word39" not in screen.text
        assert screen.end() == 0
        assert screen.scrollback.split() == answer.split()


@pytest.mark.long
def test_refused_call_is_one_line_and_a_failure_one_sentence(home: Path, serve: Any) -> None:
    steps = (
        Reply(tools=[Use("write_file", {"path": "x", "content": "x"})]),
        Reply(status=400, body={"error": {"message": "no such thing"}}),
    )
    env = environment(home, serve(*steps))
    argv = command("hello", "--mode", "ask", "--no-input")
    with TerminalScreen(argv, env=env, cwd=home) as screen:
        assert screen.end() == 1
        shown = screen.scrollback
    assert shown.count("write_file") == 1
    assert "· denied ·" in shown
    assert shown.count("no such thing") == 1


@pytest.mark.long
def test_answer_in_a_pipe_is_bare_while_the_terminal_shows_the_calls(
    home: Path, work: Path, serve: Any
) -> None:
    env = environment(home, serve(FIX[0], "**Done.**"))
    line = " ".join([*command("Fix", "--yes"), ">", "answer.txt"])
    with TerminalScreen(["/bin/sh", "-c", line], env=env, cwd=work) as screen:
        assert screen.end() == 0
        shown = screen.scrollback
    assert (work / "answer.txt").read_text("utf-8") == "**Done.**\n"
    assert "✓ edit_file stats.py · +1 -1 ·" in shown
    assert "  2 -     return n - 1\n  2 +     return n" in shown
    assert "Done" not in shown


@pytest.mark.slow
def test_piped_output_is_plain_and_wait_notices_go_to_stderr(home: Path, serve: Any) -> None:
    server = serve(busy("0.2"), ANSWER, busy("0.2"), ANSWER)
    options: dict[str, Any] = {"cwd": home, "env": environment(home, server), "text": True}
    options |= {"stdin": subprocess.DEVNULL, "capture_output": True, "check": True}
    done = subprocess.run(command("hello"), **options)
    assert done.stdout == ANSWER
    assert done.stderr == "… rate-limited by openai; trying again in 0.2 s\n"
    lines = subprocess.run(command("hello", "--json"), **options).stdout.splitlines()
    found = [json.loads(line) for line in lines]
    [notice] = [one for one in found if one["type"] == "notice"]
    assert notice["text"] == "rate-limited by openai; trying again in 0.2 s"
    usage = found[-1]["usage"]
    cost = (usage["input"] * 1000 + usage["output"] * 2000) / 1e6
    assert usage["cost"] == pytest.approx(cost)


@pytest.mark.slow
def test_reply_is_printed_in_any_locale(home: Path, serve: Any) -> None:
    server = serve("Grüße → 日本.", "Grüße → 日本.")
    environ = environment(home, server) | {"PYTHONUTF8": "0"}
    for encoding, shown in (("ascii", "Gr??e ? ??."), ("latin-1", "Grüße ? ??.")):
        done = subprocess.run(
            command("hello"),
            cwd=home,
            env=environ | {"PYTHONIOENCODING": encoding},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        assert (done.returncode, done.stdout.decode(encoding).strip()) == (0, shown)


@pytest.mark.slow
def test_ctrl_c_ends_rate_limit_wait_at_once(home: Path, serve: Any) -> None:
    server = serve(busy("50"))
    with subprocess.Popen(
        command("hello", "--no-wait"),
        cwd=home,
        env=environment(home, server),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        assert "trying again in 50 s" in process.stderr.readline()
        started = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
        assert time.monotonic() - started < 10


@pytest.mark.slow
def test_window_size_overrides_environment(home: Path, serve: Any) -> None:
    server = serve(Reply("unbreakable " * 30))
    argv = ["/usr/bin/env", "COLUMNS=130", "LINES=9", *command("hello")]
    with TerminalScreen(argv, env=environment(home, server), cwd=home) as screen:
        assert screen.end() == 0
        words = " ".join(screen.lines).split()
    assert words == ["unbreakable"] * 30
