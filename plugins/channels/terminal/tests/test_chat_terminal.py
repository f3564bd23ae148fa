"""``hookline chat`` on a terminal: what a person sees and what their keys do."""

from __future__ import annotations

import stat
import time
from collections.abc import Callable
from pathlib import Path

import pytest

Script = Callable[[str], str]
PROMPT = "›"
HELLO = '  - {when: hello, text: "Well **met**.", repeat: true}\n'
FAULTS = Path(__file__).parents[4] / "tests" / "support" / "reliability" / "outside"
"""A folder with a module that Python imports at its start: it makes the disk of a process full."""
SLOW = """
  - {when: "^slow", text: "too late", delay: 60}
  - {when: "^quick", text: "Here I am."}
  - {when: "^last", text: "Still here."}
"""


@pytest.mark.long
def test_reply_is_rendered_and_shown_once(terminal: Callable, script: Script) -> None:
    chat = terminal("chat", "--model", script(HELLO.replace("**", "`")))
    chat.wait_for(PROMPT)
    chat.type("hello\r")
    chat.wait_for("Well met.")
    chat.type("\x04")
    assert chat.end() == 0
    assert "`" not in chat.text.split("› hello")[-1].split("Well met.")[1]
    assert chat.text.count("Well met.") == 1
    assert "--session" in chat.new


@pytest.mark.slow
def test_message_that_cannot_be_stored_returns_to_input_line(
    terminal: Callable, script: Script, tmp_path: Path
) -> None:
    disk = tmp_path / "disk"
    disk.write_text("ok")
    chat = terminal(
        "chat", "--model", script(HELLO), PYTHONPATH=str(FAULTS), HARNESS_DISK=str(disk)
    )
    chat.wait_for(PROMPT)
    chat.type("hello\r")
    chat.wait_for("Well met.")
    chat.wait_for(PROMPT)
    disk.write_text("full")
    pasted = "\n".join(f"hello {n}" for n in range(12))
    chat.type(f"\x1b[200~{pasted}\x1b[201~ again\r")
    chat.wait_for("so this was not saved.")
    chat.wait_for("› [pasted 12 lines] again")
    disk.write_text("ok")
    chat.type("\r")
    chat.wait_for("Well met.")
    chat.type("\x04")
    assert chat.end() == 0


@pytest.mark.slow
def test_markdown_setting_off_shows_source(terminal: Callable, script: Script) -> None:
    setting = {"HOOKLINE_PLUGINS__TERMINAL__MARKDOWN": "false"}
    chat = terminal("chat", "--model", script(HELLO), **setting)
    chat.wait_for(PROMPT)
    chat.type("hello\r")
    chat.wait_for("Well **met**.")


@pytest.mark.slow
def test_long_reply_shows_all_paragraphs_in_order(terminal: Callable, script: Script) -> None:
    numbers = [f"paragraph{n:02}." for n in range(30)]
    text = "\\n\\n".join(numbers)
    chat = terminal("chat", "--model", script(f'  - {{when: long, text: "{text}"}}\n'))
    chat.wait_for(PROMPT)
    chat.type("long\r")
    for number in numbers:
        chat.wait_for(number)
    chat.type("/whoami\r")
    chat.wait_for("terminal:")


@pytest.mark.slow
@pytest.mark.parametrize("keys", ["hel\x1b\rlo", "hel\\\rlo"], ids=["alt-enter", "backslash"])
def test_message_may_have_several_lines(terminal: Callable, script: Script, keys: str) -> None:
    steps = '  - {when: "^hel\\\\nlo$", text: "Two lines."}\n'
    chat = terminal("chat", "--model", script(steps))
    chat.wait_for(PROMPT)
    for typed in (keys.removesuffix("lo"), "lo\r"):  # at once, they would be a paste
        chat.type(typed)
        time.sleep(0.5)
    chat.wait_for("Two lines.")


@pytest.mark.slow
def test_pasted_lines_are_one_message(terminal: Callable, script: Script) -> None:
    steps = '  - {when: "^a\\\\nb\\\\nc$", text: "Three lines."}\n'
    chat = terminal("chat", "--model", script(steps))
    chat.wait_for(PROMPT)
    chat.type("\x1b[200~a\nb\nc\x1b[201~\r")
    chat.wait_for("Three lines.")


@pytest.mark.slow
def test_input_history_is_kept_across_chats(terminal: Callable, script: Script, home: Path) -> None:
    for keys in ("hello\r", "\x1b[A\r"):
        chat = terminal("chat", "--model", script(HELLO))
        chat.wait_for(PROMPT)
        chat.type(keys)
        chat.wait_for("Well met.")
        chat.type("\x04")
        chat.end()
    (history,) = home.rglob("history")
    assert stat.S_IMODE(history.stat().st_mode) == 0o600


@pytest.mark.slow
def test_tab_completes_file_path(terminal: Callable, script: Script, work: Path) -> None:
    (work / "alphabet.txt").write_text("abc")
    chat = terminal("chat", "--model", script('  - {when: "@file:alphabet.txt", text: "Read."}\n'))
    chat.wait_for(PROMPT)
    chat.type("see @file:alph")
    chat.wait_for("alphabet.txt")
    chat.type("\t")
    chat.wait_for("abet.txt")
    chat.type("\r")
    chat.wait_for("Read.")


@pytest.mark.slow
def test_tool_calls_are_shown_with_duration(terminal: Callable, script: Script, work: Path) -> None:
    (work / "seen.txt").touch()
    steps = """
  - {when: look, text: "I look.", tools: [{name: list_dir, arguments: {path: .}}]}
  - {when: seen, text: "One file.", tools: [{name: read_file, arguments: {path: gone.txt}}]}
  - {when: Error, text: "It is gone."}
"""
    chat = terminal("chat", "--model", script(steps))
    chat.wait_for(PROMPT)
    chat.type("look\r")
    chat.wait_for("I look.")
    chat.wait_for("✓ list_dir . · ok · ")
    chat.wait_for(" ms")
    chat.wait_for("✗ read_file gone.txt · failed · ")
    chat.wait_for("gone.txt does not exist")
    chat.wait_for("It is gone.")


@pytest.mark.slow
def test_reply_cannot_send_control_sequences(terminal: Callable, script: Script) -> None:
    steps = '  - {when: hello, text: "a\\e]0;owned\\ab\\e[2Jc\\n\\nend"}\n'
    chat = terminal("chat", "--model", script(steps))
    chat.wait_for(PROMPT)
    chat.type("hello\r")
    chat.wait_for(r"a\x1b]0;owned\x07b\x1b[2Jc")
    chat.wait_for("end")
    assert b"\x1b]0;owned" not in chat.raw
    assert b"\x1b[2J" not in chat.raw


@pytest.mark.slow
def test_ctrl_c_stops_turn_and_chat_continues(terminal: Callable, script: Script) -> None:
    chat = terminal("chat", "--model", script(SLOW))
    chat.wait_for(PROMPT)
    chat.type("slow\r")
    chat.wait_for("thinking")
    chat.type("\x03")
    chat.wait_for("Stopped.")
    chat.type("quick\r")
    chat.wait_for("Here I am.")
    assert "too late" not in chat.text


@pytest.mark.slow
def test_input_line_works_during_turn_and_messages_queue(
    terminal: Callable, script: Script
) -> None:
    chat = terminal("chat", "--model", script(SLOW))
    chat.wait_for(PROMPT)
    chat.type("slow\r")
    chat.wait_for("thinking")
    chat.type("quick\r")
    chat.wait_for("› quick")
    chat.type("/status\r")
    chat.wait_for("a turn is running")
    chat.type("/stop\r")
    chat.wait_for("Stopped.")
    chat.wait_for("Here I am.")


@pytest.mark.slow
def test_replies_are_shown_once_and_in_order(terminal: Callable, script: Script) -> None:
    numbers = [f"{number:02}" for number in range(12)]
    # Only while it grows, below what stands for good, is an answer shown with its backticks.
    steps = "".join(f'  - {{when: "^say {n}", text: "Number `{n}`."}}\n' for n in numbers)
    chat = terminal("chat", "--model", script(steps))
    chat.wait_for(PROMPT)
    for number in numbers:
        chat.type(f"say {number}\r")
        time.sleep(0.3)  # lines that come at once are one message
    for number in numbers:
        chat.wait_for(f"Number {number}.")
    chat.type("\x04")
    assert chat.end() == 0
    assert [chat.text.count(f"Number {number}.") for number in numbers] == [1] * len(numbers)


@pytest.mark.slow
def test_ctrl_c_clears_line_then_warns_then_exits(terminal: Callable, script: Script) -> None:
    chat = terminal("chat", "--model", script(HELLO))
    chat.wait_for(PROMPT)
    chat.type("no such word")
    chat.wait_for("no such word")
    chat.type("\x03")
    chat.type("/whoami\r")
    chat.wait_for("terminal:")
    chat.type("\x03")
    chat.wait_for("Ctrl-C again")
    chat.type("\x03")
    assert chat.end() == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "keys", ["\x04", *(pytest.param(k, marks=pytest.mark.slow) for k in ("/exit\r", "/Quit\r"))]
)
def test_exit_stops_running_turn(terminal: Callable, script: Script, keys: str) -> None:
    chat = terminal("chat", "--model", script(SLOW))
    chat.wait_for(PROMPT)
    chat.type("slow\r")
    chat.wait_for("thinking")
    chat.type(keys)
    assert chat.end() == 0
    assert "Stopped." in chat.new


@pytest.mark.slow
def test_dumb_terminal_gets_plain_lines(terminal: Callable, script: Script) -> None:
    chat = terminal("chat", "--model", script(HELLO), TERM="dumb")
    chat.type("hello\r")
    chat.wait_for("Well **met**.")
    chat.type("\x04")
    assert chat.end() == 0
    assert b"\x1b" not in chat.raw


@pytest.mark.slow
def test_goal_turns_are_not_marked_as_other_session(terminal: Callable, script: Script) -> None:
    """The turns of a goal answer nothing that was said, and are of this conversation."""
    steps = '  - {when: ".", text: "I did a step.", repeat: true}\n'
    chat = terminal("chat", "--model", script(steps), HOOKLINE_PLUGINS__GOALS="true")
    chat.wait_for(PROMPT)
    chat.type("/goal Tidy up\r")
    chat.wait_for("/goal resume continues")
    assert "I did a step." in chat.text
    assert "From session" not in chat.text
