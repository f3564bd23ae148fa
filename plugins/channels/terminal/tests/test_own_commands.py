"""``!command``: a spinner with the time, Esc stops it; ``!vim`` gets the terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hookline_terminal.screen_programs import needs_terminal
from support.terminal import TerminalScreen

from .conftest import HOOKLINE
from .test_dragged_files import install

Script = Callable[[str], str]
Open = Callable[..., TerminalScreen]
STEPS = """
  - {when: "^hello", text: "Heard.", repeat: true}
"""
FULL_SCREEN = f"""exec {sys.executable} -c '
import sys, tty, termios
before = termios.tcgetattr(0)
assert before[3] & termios.ICANON
tty.setraw(0)
sys.stdout.write("\\x1b[?1049h\\x1b[2J\\x1b[H\\x1b[?25lEDITING")
sys.stdout.flush()
key = sys.stdin.read(1)
if key == "k":
    import os, signal
    os.kill(os.getpid(), signal.SIGKILL)
sys.stdout.write("\\x1b[?25h\\x1b[?1049l")
'"""


@pytest.mark.parametrize(
    "command",
    [
        *("vim", "sudo -E vim /etc/hosts", "EDITOR=x nvim a", "git log | less", "python3"),
        *("psql shop", "git commit", "git commit -a --amend", "git -C sub commit", "git add -p"),
        *("git rebase -i HEAD~2", "git -c core.editor=vi rebase --interactive main"),
    ],
)
def test_interactive_programs_get_the_terminal(command: str) -> None:
    assert needs_terminal(command)


@pytest.mark.parametrize(
    "command",
    [
        *("ls", "echo vim", "vim --version", "python3 x.py", "man ls | head"),
        *(
            "psql -c 'select 1'",
            "'",
            "git",
            "git status",
            "git commit -am fixed",
            "git rebase main",
        ),
        *("git commit --message=fixed", "git commit --amend --no-edit", "git add -A"),
    ],
)
def test_other_programs_do_not(command: str) -> None:
    assert not needs_terminal(command)


@pytest.mark.slow
def test_editor_of_git_commit_has_the_terminal(
    script: Script, work: Path, env: dict[str, str]
) -> None:
    subprocess.run(["git", "init", "-q"], cwd=work, check=True)
    editor = work / "editor.sh"
    editor.write_text('#!/bin/sh\ntest -t 0 && test -t 1 && echo "typed here" > "$1"\n')
    editor.chmod(0o755)
    env |= {"GIT_EDITOR": str(editor), "GIT_CONFIG_GLOBAL": os.devnull}
    env |= {
        f"GIT_{who}_{what}": "a@b.example"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    argv = [*HOOKLINE, "chat", "--model", script(STEPS)]
    with TerminalScreen(argv, env=env, cwd=work) as chat:
        chat.wait_for("auto")
        chat.type("!git commit --allow-empty\r")
        chat.wait_for("had the terminal")
    log = subprocess.run(["git", "log", "--format=%s"], cwd=work, check=True, capture_output=True)
    assert log.stdout == b"typed here\n"


@pytest.mark.slow
@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (120, 40), (40, 20)])
def test_command_shows_its_time_and_escape_stops_it(
    screen: Open, script: Script, columns: int, rows: int
) -> None:
    chat = screen("chat", "--model", script(STEPS), columns=columns, rows=rows)
    chat.wait_for("auto")
    chat.type("!echo out; sleep 60\r")
    chat.wait_for("!echo out; sleep 60 1 s · esc stops")
    chat.type("hel")
    chat.wait_for("› hel")
    chat.type("\x1b")
    chat.wait_for("[stopped after")
    chat.wait_until(lambda: "esc stops" not in chat.text, "no spinner")
    chat.type("lo\r")
    chat.wait_for("Heard.")


@pytest.mark.slow
@pytest.mark.parametrize("key", ["q", "k"])
def test_full_screen_program_gives_the_terminal_back(
    screen: Open, script: Script, tmp_path: Path, key: str
) -> None:
    folder = tmp_path / "programs"
    folder.mkdir()
    install(folder, "vim", FULL_SCREEN)
    chat = screen("chat", "--model", script(STEPS))
    chat.wait_for("auto")
    chat.type(f"!{folder}/vim notes\r")
    chat.wait_for("EDITING")
    chat.type(key)
    chat.wait_for("had the terminal")
    chat.type("hello\r")
    chat.wait_for("Heard.")
    assert "› hello\n" in chat.text
    assert chat.raw.rfind(b"\x1b[?25h") > chat.raw.rfind(b"\x1b[?25lEDITING")
