"""Variables that are set: some make a later program run what they hold."""

from __future__ import annotations

import re

from . import acts, code, guesses, hooks
from .places import judge_path
from .shell import Shell
from .tables import load
from .values import FILE, MARKS
from .words import document, split_words


def judge_variable(name: str, value: str, shell: Shell) -> None:
    """A variable that makes some later program run what it holds."""
    tables = load("interpreters")
    if not value or value[0] in MARKS:
        return
    if name in tables["loaded"]:
        shell.record.add("ask", f"{name}={value[:60]} loads code into the programs it runs")
    elif name in tables["naming"]:
        judge_path(value, shell, f"{name}={value[:60]}")
        shell.child().run_text(value, FILE)
    elif name in tables["prompts"]:
        document(value, shell)
    elif name in tables["variables"]:
        shell.child().run_text(value.lstrip("|"), FILE)
    elif value.lstrip().startswith("() {"):
        shell.child().run_text(f"imported {value}\nimported", FILE)
    elif program := tables["options"].get(name):
        argv = [program, *split_words(value)]
        acts.judge(program, argv, shell, "")
        hooks.judge(program, argv, shell)
    elif language := code.language(tables["coded"].get(name, "")):
        code.judge(language, value, shell, name)
    elif re.match(r"GIT_CONFIG_(VALUE|PARAMETERS)", name):
        shell.child().run_text(value.removeprefix("!"), FILE)


def judge_given(name: str, value: str, shell: Shell) -> None:
    """A variable that a command is given, and might run."""
    judge_variable(name, value, shell)
    if name not in load("interpreters")["variables"] and " " in value:
        guesses.suspect(value, shell, f"{name}={value[:60]}")
