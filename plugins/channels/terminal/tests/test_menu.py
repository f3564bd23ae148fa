"""The completion menu on a screen, and text typed before the input line is ready."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

Script = Callable[[str], str]
STEPS = """
  - {when: "^write", tools: [{name: write_file, arguments: {path: a.txt, content: x}}]}
  - {when: "a.txt", text: "Written."}
  - {when: "", text: "Heard.", repeat: true}
"""
SKILL = "---\nname: {0}\ndescription: {1}\n---\nDo it.\n"


@pytest.mark.slow
def test_menu_offers_arguments_of_commands(
    screen: Callable, script: Script, home: Path, env: dict[str, str]
) -> None:
    for name, description in {
        "deploy-shop": "Deploys the shop.",
        "water": "Waters plants.",
    }.items():
        folder = home / "skills" / name
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(SKILL.format(name, description), "utf-8")
    model = script(STEPS)
    (home / "config.yaml").write_text("fallback_models: [ollama/qwen3:8b]\n", "utf-8")
    chat = screen("chat", "--model", model)
    chat.wait_for("›")
    chat.type("write it\r")
    chat.wait_for("Written.")
    for typed, row in {
        "/model ": f"{model[:20]}",
        "/model qw": "ollama/qwen3:8b  in config.yaml, free (local)",
        "/rewind ": ", before “write it”",
        "/skill ": "deploy-shop  Deploys the shop.",
        "/skill wat": "water  Waters plants.",
        "/mode ": "plan   nothing is changed",
        "/resume ": "1 turn write it",
        "/help st": "steer   Tell the running turn",
    }.items():
        chat.type(typed)
        chat.wait_for(row)
        chat.type("\x1b\x1b")
        chat.wait_until(lambda typed=typed: f"› {typed}" not in chat.text, "an empty line")
    chat.type("/skill wa")
    chat.wait_for("Waters plants.")
    chat.type("\t")
    chat.wait_for("› /skill water")
    chat.type("\x03\x04")
    assert chat.end() == 0
    again = screen("chat", "--model", model)  # nothing was said in this session yet
    again.wait_for("›")
    again.type("/rewind ")
    again.wait_for(", before “write it”")


@pytest.mark.slow
def test_text_typed_before_input_line_is_ready_is_sent(screen: Callable, script: Script) -> None:
    chat = screen("chat", "--model", script(STEPS))
    chat.type("hello\rand more\r")
    chat.wait_for("Heard.")
    assert "› hello\n  and more\n" in chat.text
