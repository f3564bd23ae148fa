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
    chat.settle()
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
        chat.wait_until(lambda typed=typed: f"› {typed[:-1]}" not in chat.text, "an empty line")
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


@pytest.mark.slow
@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (120, 40), (40, 20)])
def test_enter_takes_the_highlighted_offer_and_does_not_send(
    screen: Callable, script: Script, work: Path, columns: int, rows: int
) -> None:
    (work / "README.md").write_text("Read me.", "utf-8")
    (work / "notes").mkdir()
    (work / "notes" / "plan.txt").write_text("Plan.", "utf-8")
    chat = screen("chat", "--model", script(STEPS), columns=columns, rows=rows)
    chat.wait_for("auto")
    chat.type("/")
    chat.wait_for(" /compact ")
    chat.type("sta")
    chat.wait_for(" /status ")
    chat.type("\r")
    chat.wait_for("› /status\n")
    chat.settle()
    assert chat.scrollback.count("/status") == 1  # not sent
    chat.type("\x15/stt")  # letters with others between
    chat.wait_for(" /status")
    chat.type("\x1b")
    chat.wait_until(lambda: " /status" not in chat.text.split("›")[1], "no menu")
    chat.type("\x15look at @READ")
    chat.wait_for(" README.md")
    chat.type("\t")
    chat.wait_for("› look at @README.md")
    chat.type("and @no")
    chat.wait_for(" notes/")
    chat.type("\x1b[B\x1b[A\r")
    chat.wait_for("› look at @README.md and @notes/\n")
    chat.settle()
    chat.type("\r")
    chat.wait_until(lambda: "@notes/plan.txt" in "".join(chat.lines), "the file")
    assert "Heard." not in chat.settle()
    chat.type("\r")
    chat.wait_for("Heard.")
    chat.type("/status\r")  # a whole command is sent
    chat.wait_until(lambda: "› /status\n" in chat.scrollback, "the command")
