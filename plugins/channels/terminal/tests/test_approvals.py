"""Questions on a terminal: what is shown, and which keys count."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("asker")
Script = Callable[[str], str]
PROMPT, KEYS = "›", "4. Deny"


def launch(target: str = "moon") -> str:
    """A scenario that asks to launch and tells what came of it."""
    return f"""
  - {{when: "^go", tools: [{{name: launch, arguments: {{target: "{target}"}}}}]}}
  - {{when: "launched", text: "It flew."}}
  - {{when: "says: to far", text: "It stayed: to far"}}
  - {{when: "Denied", text: "It stayed."}}
  - {{when: "draft", text: "Draft sent."}}
"""


ANSWERS = [
    *[("1\r", "Allow once", "It flew."), ("\x1b[B\x1b[B\r", "Allow in this session", "It flew.")],
    *[("\x1b", "Deny", "It stayed.")],
]
MORE_ANSWERS = [
    *[("3\r", "Allow always", "It flew."), ("\x1b[A\r", "Deny", "It stayed.")],
    *[("4\r", "Deny", "It stayed."), ("\x03", "Deny", "Stopped.")],
    *[("\x04", "Deny", "It stayed."), ("31\r", "Allow once", "It flew.")],
    ("\ttoo\x7f far\r", "Deny: to far", "It stayed: to far"),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("keys", "choice", "end"),
    [*ANSWERS, *(pytest.param(*case, marks=pytest.mark.slow) for case in MORE_ANSWERS)],
)
def test_keys_pick_the_choice(
    terminal: Callable, script: Script, keys: str, choice: str, end: str
) -> None:
    chat = terminal("chat", "--model", script(launch()))
    chat.wait_for(PROMPT)
    chat.type("go\r")
    chat.wait_for("t cannot be undone")
    chat.wait_for("│ launch moon")
    chat.wait_for(KEYS)
    chat.type(keys)
    chat.wait_for(f"→ {choice}")
    chat.wait_for(end)


@pytest.mark.slow
def test_choices_name_their_scope_and_enter_alone_names_missing_key(
    terminal: Callable, script: Script
) -> None:
    chat = terminal("chat", "--model", script(launch()))
    chat.wait_for(PROMPT)
    chat.type("go\r")
    chat.wait_for("2. Allow in this session  exactly this again, until the session ends")
    chat.wait_for("3. Allow always           exactly this again, in this folder, from now on")
    chat.wait_for(KEYS)
    chat.type("\r")
    chat.wait_for("Type a number or use the arrows, then Enter.")
    chat.wait_for(KEYS)
    chat.type("\x1b")
    chat.wait_for("It stayed.")


@pytest.mark.slow
def test_command_is_shown_completely(terminal: Callable, script: Script) -> None:
    target = "".join(f"<{n:04}>" for n in range(2000)) + "THE-END"
    chat = terminal("chat", "--model", script(launch(target)))
    chat.wait_for(PROMPT)
    chat.type("go\r")
    chat.wait_for("│ launch ")
    shown = chat.wait_for("THE-END")
    assert re.sub(r"[\s│]", "", shown) == target.removesuffix("THE-END")
    chat.wait_for(KEYS)
    chat.type("\x1b")
    chat.wait_for("It stayed.")


@pytest.mark.slow
def test_command_cannot_hide_itself_with_control_characters(
    terminal: Callable, script: Script
) -> None:
    chat = terminal("chat", "--model", script(launch(r"moon\e[8m; rm -rf ~\e[0m\u202e")))
    chat.wait_for(PROMPT)
    chat.type("go\r")
    chat.wait_for(r"│ launch moon\x1b[8m; rm -rf ~\x1b[0m\u202e")
    assert b"\x1b[8m" not in chat.raw


@pytest.mark.slow
def test_command_line_cannot_imitate_the_prompt(terminal: Callable, script: Script) -> None:
    chat = terminal("chat", "--model", script(launch(r"moon\n? Allow nothing?")))
    chat.wait_for(PROMPT)
    chat.type("go\r")
    chat.wait_for("│ launch moon")
    chat.wait_for("│ ? Allow nothing?")


@pytest.mark.slow
def test_risky_part_is_emphasized_where_it_stands(terminal: Callable, script: Script) -> None:
    chat = terminal("chat", "--model", script(launch("moon --unmanned")))
    chat.wait_for(PROMPT)
    chat.type("go\r")
    chat.wait_for("│ launch moon ⟦--unmanned⟧")
    assert b"\x1b[1;31m\xe2\x9f\xa6--unmanned" in chat.raw


@pytest.mark.slow
def test_draft_returns_after_question(terminal: Callable, script: Script) -> None:
    steps = launch().replace('"^go", tools', '"^go", delay: 1.5, tools')
    chat = terminal("chat", "--model", script(steps))
    chat.wait_for(PROMPT)
    chat.type("go\r")
    chat.wait_for("thinking")
    chat.type("a dra")
    chat.wait_for(KEYS)
    chat.type("\x1b")
    chat.wait_for("It stayed.")
    chat.type("ft\r")
    chat.wait_for("Draft sent.")


@pytest.mark.slow
def test_keys_typed_before_the_question_do_not_answer_it(
    terminal: Callable, script: Script
) -> None:
    chat = terminal("run", "go", "--model", script(launch()))
    chat.type("1\r3\r")
    chat.wait_for(KEYS)
    chat.type("\x1b")
    chat.wait_for("→ Deny")
    chat.wait_for("ignored: 1 3")
    chat.wait_for("It stayed.")
    assert chat.end() == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "code", "end"),
    [("1\r", 0, "It flew."), pytest.param("\x03", 130, "Stopped.", marks=pytest.mark.slow)],
)
def test_run_asks_for_approval(
    terminal: Callable, script: Script, key: str, code: int, end: str
) -> None:
    run = terminal("run", "go", "--model", script(launch()))
    run.wait_for("│ launch moon")
    run.wait_for(KEYS)
    run.type(key)
    run.wait_for(end)
    assert run.end() == code


@pytest.mark.slow
def test_run_json_asks_for_approval(terminal: Callable, script: Script) -> None:
    run = terminal("run", "go", "--json", "--model", script(launch()))
    run.wait_for(KEYS)
    run.type("1\r")
    run.wait_for('"stop": "done"')
    assert run.end() == 0


@pytest.mark.long
def test_number_picks_choice(terminal: Callable, script: Script) -> None:
    steps = """
  - {when: "^go", tools: [{name: choose, arguments: {among: [red, blue]}}]}
  - {when: "chosen blue", text: "Blue it is."}
"""
    chat = terminal("chat", "--model", script(steps))
    chat.wait_for(PROMPT)
    chat.type("go\r")
    chat.wait_for("1. red")
    chat.wait_for("2. blue")
    chat.wait_for("leaves it")
    chat.type("2\r")
    chat.wait_for("→ blue")
    chat.wait_for("Blue it is.")


@pytest.mark.slow
def test_two_digit_number_picks_choice(terminal: Callable, script: Script) -> None:
    names = [f"c{n}" for n in range(1, 13)]
    steps = f"""
  - {{when: "^go", tools: [{{name: choose, arguments: {{among: [{", ".join(names)}]}}}}]}}
  - {{when: "chosen c12", text: "The last."}}
"""
    chat = terminal("chat", "--model", script(steps))
    chat.wait_for(PROMPT)
    chat.type("go\r")
    chat.wait_for("12. c12")
    chat.wait_for("leaves it")
    chat.type("12\r")
    chat.wait_for("→ c12")
    chat.wait_for("The last.")


@pytest.mark.slow
def test_several_questions_are_asked_in_turn(terminal: Callable, script: Script) -> None:
    steps = """
  - when: "^go"
    tools:
      - {name: launch, arguments: {target: moon}}
      - {name: launch, arguments: {target: mars}}
  - {when: "launched moon[^$]*Denied", text: "Half of it flew."}
"""
    chat = terminal("chat", "--model", script(steps))
    chat.wait_for(PROMPT)
    chat.type("go\r")
    chat.wait_for("launch moon")
    chat.wait_for(KEYS)
    chat.type("1\r")
    chat.wait_for("│ launch mars")
    chat.wait_for("2. Deny")
    chat.type("\x1b")
    chat.wait_for("Half of it flew.")


STAYS = """
  - {when: "^go", tools: [{name: launch, arguments: {target: moon}}]}
  - {when: "launched", text: "It flew."}
"""


@pytest.mark.slow
def test_approval_waits_as_long_as_the_terminal_is_open(
    screen: Callable, script: Callable[[str], str], home: Path
) -> None:
    (home / "config.yaml").write_text("plugins: {asker: true, approvals: {expires: 1s}}\n", "utf-8")
    chat = screen("chat", "--model", script(STAYS))
    chat.wait_for("auto")
    chat.type("go\r")
    chat.wait_for("4. Deny")
    chat.settle(4.0)
    assert "4. Deny" in chat.text
    chat.type("1\r")
    chat.wait_for("It flew.")
