"""``/vim`` and ``/editor`` in the chat, and elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hookline.testing.harness import Harness
from hookline_terminal import Terminal

Script = Callable[[str], str]
STEPS = '\n  - {when: "", text: "Heard.", repeat: true}\n'


@pytest.mark.slow
def test_vi_keys_are_switched_on_and_remembered(screen: Callable, script: Script) -> None:
    model = script(STEPS)
    chat = screen("chat", "--model", model)
    chat.wait_for("›")
    chat.type("/vim\r")
    chat.wait_for("The vi keys are on")
    chat.type("\x04")
    assert chat.end() == 0
    again = screen("chat", "--model", model)
    again.wait_for("›")
    again.type("one two")
    again.wait_for("› one two")
    again.type("\x1b")
    again.settle(0.5)
    again.type("bcwfive\r")
    again.wait_for("› one five")
    again.wait_for("Heard.")
    again.type("/vim off\r")
    again.wait_for("The vi keys are off.")


@pytest.mark.slow
def test_editor_command_edits_the_message(
    env: dict[str, str], work: Path, script: Script, tmp_path: Path
) -> None:
    from support.terminal import TerminalScreen

    from .conftest import HOOKLINE

    program = tmp_path / "edit"
    program.write_text('#!/bin/sh\nprintf "%s, edited" "$(cat "$1")" >"$1"\n')
    program.chmod(0o755)
    argv = [*HOOKLINE, "chat", "--model", script(STEPS)]
    with TerminalScreen(argv, env=env | {"VISUAL": str(program)}, cwd=work) as chat:
        chat.wait_for("›")
        chat.type("/editor my draft\r")
        chat.wait_for("› my draft, edited")
        chat.type("\r")
        chat.wait_for("Heard.")


@pytest.mark.parametrize("name", ["/theme", "/vim", "/editor"])
def test_settings_of_the_terminal_are_refused_elsewhere(
    harness: Callable[..., Harness], name: str
) -> None:
    h = harness(Terminal)
    assert h.send(f"{name} dark").text == f"{name} works in the terminal chat only."
