"""``hookline chat`` in a pipe: answers on stdout, everything else on stderr."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Script = Callable[[str], str]
ECHO = """
  - {when: one, text: "First."}
  - {when: two, text: "Second **bold**."}
  - {when: three, text: "Third."}
"""
LOOK = """
  - {when: look, text: "I look.", tools: [{name: list_dir, arguments: {path: .}}]}
  - {when: seen\\.txt, text: "There is one file."}
"""


@pytest.mark.slow
def test_each_line_is_a_message(piped: Callable, script: Script) -> None:
    done = piped("chat", "--model", script(ECHO), stdin="one\n\n  \ntwo\nthree")
    assert (done.returncode, done.stdout) == (0, "First.\nSecond **bold**.\nThird.\n")


@pytest.mark.slow
def test_piped_lines_share_one_session(piped: Callable, script: Script) -> None:
    done = piped("chat", "--model", script(ECHO), stdin="one\ntwo\n")
    session = done.stderr.split("--session ")[1].split()[0]
    shown = piped("sessions", "show", session).stdout
    assert [word in shown for word in ("one", "First.", "two", "Second")] == [True] * 4


@pytest.mark.slow
def test_empty_stdin_exits_0(piped: Callable, script: Script) -> None:
    done = piped("chat", "--model", script(ECHO))
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize("word", ["/exit", "/QUIT"])
def test_exit_commands_end_chat(piped: Callable, script: Script, word: str) -> None:
    done = piped("chat", "--model", script(ECHO), stdin=f"one\n{word}\ntwo\n")
    assert (done.returncode, done.stdout) == (0, "First.\n")


@pytest.mark.slow
def test_tool_calls_are_shown_on_stderr(piped: Callable, script: Script, work: Path) -> None:
    (work / "seen.txt").touch()
    done = piped("chat", "--model", script(LOOK), stdin="look\n")
    assert done.stdout == "There is one file.\n"
    assert "list_dir ." in done.stderr
    assert "ok" in done.stderr


@pytest.mark.slow
def test_tool_lines_setting_hides_tool_calls(piped: Callable, script: Script, work: Path) -> None:
    (work / "seen.txt").touch()
    setting = {"HOOKLINE_PLUGINS__TERMINAL__TOOL_LINES": "false"}
    done = piped("chat", "--model", script(LOOK), stdin="look\n", **setting)
    assert done.stdout == "There is one file.\n"
    assert "list_dir" not in done.stderr


@pytest.mark.slow
def test_error_goes_to_stderr_not_stdout(piped: Callable, script: Script) -> None:
    steps = "  - {when: one, fault: bad_request}\n  - {when: two, text: Fine.}\n"
    done = piped("chat", "--model", script(steps), stdin="one\ntwo\n")
    assert done.stdout == "Fine.\n"
    assert "bad_request" in done.stderr


@pytest.mark.slow
def test_slash_commands_get_replies(piped: Callable, script: Script) -> None:
    done = piped("chat", "--model", script(ECHO), stdin="/whoami\n/nothing-such\none\n")
    first, second, last = done.stdout.splitlines()
    assert first.startswith("terminal:")
    assert "/nothing-such" in second
    assert last == "First."


@pytest.mark.slow
def test_queued_message_gets_reply_before_chat_ends(piped: Callable, script: Script) -> None:
    done = piped("chat", "--model", script(ECHO), stdin="/queue one\n")
    assert done.stdout.splitlines()[-1] == "First."


@pytest.mark.long
@pytest.mark.usefixtures("asker")
def test_piped_input_cannot_approve(piped: Callable, script: Script) -> None:
    steps = """
  - {when: go, tools: [{name: launch, arguments: {target: moon}}]}
  - {when: Denied, text: "It stayed."}
"""
    done = piped("chat", "--model", script(steps), stdin="go\nonce\n")
    assert done.stdout.startswith("It stayed.\n")
    assert "cannot be undone" in done.stderr


@pytest.mark.slow
def test_invalid_utf8_does_not_end_chat(env: dict[str, str], work: Path, script: Script) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hookline", "chat", "--model", script(ECHO)],
        input=b"\xef\xbb\xbfone \xff\xfe\r\ntwo\n",
        env=env,
        cwd=work,
        capture_output=True,
        timeout=60,
    )
    assert done.stdout.decode() == "First.\nSecond **bold**.\n"


@pytest.mark.slow
def test_reply_is_printed_in_any_locale(piped: Callable, script: Script) -> None:
    steps = "  - {when: one, text: 'Grüße'}\n  - {when: two, text: Fine.}\n"
    done = piped("chat", "--model", script(steps), stdin="one\ntwo\n", PYTHONIOENCODING="ascii")
    assert done.stdout == "Gr??e\nFine.\n"


@pytest.mark.slow
def test_closed_stdout_ends_chat(env: dict[str, str], work: Path, script: Script) -> None:
    command = f"hookline chat --model {script(ECHO)}"
    done = subprocess.run(
        ["sh", "-c", f'"$0" -m {command} | true; wait', sys.executable],
        input="one\ntwo\n",
        env=env,
        cwd=work,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
    )
    assert "Continue with" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr
