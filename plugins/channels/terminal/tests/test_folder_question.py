"""The first chat in a folder with programs or settings asks whether they may be used."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.terminal import TerminalScreen

pytestmark = pytest.mark.long
ASKED = "Trust it with this?"
UNUSED = "is not used, because the folder is not trusted"
Script = Callable[[str], str]
Chat = Callable[..., Any]


@pytest.fixture
def project(work: Path) -> Path:
    """A clone that sets a limit and brings a command and a hook."""
    (work / ".hookline").mkdir()
    (work / ".hookline/config.yaml").write_text("max_iterations: 5\n")
    (work / ".claude/commands").mkdir(parents=True)
    (work / ".claude/commands/ship.md").write_text("Ship $ARGUMENTS\n")
    write_hooks(work, "touch ran-$((1))")
    return work


def write_hooks(folder: Path, *commands: str) -> None:
    hooks = [{"type": "command", "command": command} for command in commands]
    settings = {"hooks": {"SessionStart": [{"hooks": hooks}]}}
    (folder / ".claude/settings.json").write_text(json.dumps(settings))


@pytest.fixture
def chat(env: dict[str, str], work: Path, script: Script) -> Chat:
    """Opens a chat on a screen."""
    model = script('  - {when: "", text: "Heard.", repeat: true}\n')

    @contextmanager
    def opened(*arguments: str, columns: int = 80, rows: int = 40) -> Iterator[TerminalScreen]:
        argv = [sys.executable, "-m", "hookline", "chat", "--model", model, *arguments]
        with TerminalScreen(argv, env=env, cwd=work, columns=columns, rows=rows) as screen:
            yield screen

    return opened


def on_one_line(screen: TerminalScreen) -> str:
    """The screen's text, wherever its lines break."""
    return " ".join(screen.text.split())


def trusted(home: Path) -> list[str]:
    file = home / "trusted_folders.json"
    return list(json.loads(file.read_text())["folders"]) if file.exists() else []


@pytest.mark.parametrize("columns", [40, 80, 120])
def test_trusted_folder_is_used_in_the_same_chat(
    chat: Chat, project: Path, home: Path, columns: int
) -> None:
    with chat(columns=columns, rows=50) as screen:
        screen.wait_for("2. Not now")
        assert "is not used" not in on_one_line(screen)
        shown = screen.text.replace("\n  │ ", "")
        for fact in ("setting max_iterations: 5", "touch ran-$((1))", "/ship"):
            assert fact in shown, screen.text
        assert not (project / "ran-1").exists()
        screen.type("1\r")
        screen.wait_for("→ Trust this folder")
        screen.wait_until(lambda: screen.text.rstrip().count("›") > 0, "the input line")
        screen.type("/ship it\r")
        screen.wait_for("Heard.")
        assert (project / "ran-1").exists()
        screen.type("\x04")
        screen.end()
    assert trusted(home) == [str(project.resolve())]
    with chat() as screen:
        screen.wait_for("›")
        assert ASKED not in screen.text


def test_not_now_uses_nothing_and_is_asked_once(chat: Chat, project: Path, home: Path) -> None:
    with chat() as screen:
        screen.wait_for("2. Not now")
        screen.type("2\r")
        screen.wait_until(lambda: "is not trusted." in on_one_line(screen), "the decision")
        screen.wait_for("›")
        screen.type("hello\r")
        screen.wait_for("Heard.")
        screen.type("\x04")
        screen.end()
    assert trusted(home) == []
    assert not (project / "ran-1").exists()
    with chat() as screen:
        screen.wait_for("›")
        assert ASKED not in screen.text
        assert on_one_line(screen).count(UNUSED) == 1
        screen.type("\x04")
        screen.end()
    (project / ".hookline/config.yaml").write_text("max_iterations: 4\n")
    with chat() as screen:
        screen.wait_for("setting max_iterations: 4")
        assert "is not used" not in on_one_line(screen)


def test_long_content_is_trusted_only_after_all_of_it_was_shown(
    chat: Chat, project: Path, home: Path
) -> None:
    write_hooks(project, *(f"echo {number}" for number in range(30)))
    with chat() as screen:
        screen.wait_for("2. Not now")
        assert "Trust this folder" not in screen.text
        assert "echo 29" not in screen.text
        screen.type("1\r")
        screen.wait_for("Trust this folder")
        assert "echo 29" in screen.scrollback
        screen.type("1\r")
        screen.wait_for("→ Trust this folder")
        screen.wait_for("›")
    assert trusted(home) == [str(project.resolve())]


def test_question_is_answered_by_a_command_elsewhere(
    chat: Chat, project: Path, home: Path, piped: Callable[..., Any]
) -> None:
    with chat() as screen:
        screen.wait_for("2. Not now")
        (question,) = json.loads(piped("questions", "--json").stdout)
        assert question["kind"] == "trust"
        done = piped("questions", "answer", question["id"], "1")
        assert "is trusted" in done.stdout + done.stderr
        screen.wait_for("answered by terminal:")
        screen.wait_for("›")
    assert trusted(home) == [str(project.resolve())]


def test_esc_leaves_the_question_for_the_next_time(chat: Chat, project: Path, home: Path) -> None:
    for _ in range(2):
        with chat() as screen:
            screen.wait_for("2. Not now")
            screen.type("\x1b")
            screen.wait_for("no answer")
            screen.wait_for("›")
            screen.type("\x04")
            screen.end()
    assert trusted(home) == []


@pytest.mark.parametrize("words", [("run", "hello"), ("chat",)])
def test_run_and_pipes_are_not_asked(
    project: Path, piped: Callable[..., Any], words: tuple[str, ...]
) -> None:
    done = piped(*words, "--model", "scripted/none")
    assert done.stderr.count(UNUSED) == 1
    assert ASKED not in done.stdout + done.stderr
