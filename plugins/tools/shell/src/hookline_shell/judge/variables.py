"""Variables that are set: some make a later program run what they hold."""

from __future__ import annotations

import re

from . import acts, code, guesses, hooks, loads
from .places import is_temporary, judge_path
from .record import join
from .shell import Shell
from .tables import load
from .values import FILE, MARKS, NETWORK, known
from .words import document, split_words


def judge_variable(name: str, value: str, shell: Shell) -> None:
    """A variable that makes some later program run what it holds."""
    tables = load("interpreters")
    if not value or value[0] in MARKS:
        return
    if name in tables["loaded"]:
        shell.record.add("ask", f"{name}={value[:60]} loads code into the programs it runs")
    elif name in tables["naming"]:
        _named(name, value, shell)
    elif name in load("loads")["paths"]:
        _searched(name, value, shell)
    elif name in tables["prompts"]:
        document(value, shell)
    elif name in tables["variables"]:
        if name not in tables["compilers"] and _OWN_PROGRAM.search(value):
            told = f"{name}={value[:60]}"
            shell.record.add("ask", f"{told} makes later programs run what cannot be seen")
        shell.child().run_text(value.lstrip("|"), FILE)
    elif value.lstrip().startswith("() {"):
        shell.child().run_text(f"imported {value}\nimported", FILE)
    elif program := tables["options"].get(name):
        if re.search(tables["preloads"], value):
            told = f"{name}={value[:60]}"
            shell.record.add("ask", f"{told} loads code into the programs it is given to")
        argv = [program, *split_words(value)]
        acts.judge(program, argv, shell, "")
        hooks.judge(program, argv, shell)
        loads.judge(program, argv, shell, "")
    elif language := code.language(tables["coded"].get(name, "")):
        code.judge(language, value, shell, name)
    elif re.match(r"GIT_CONFIG_(VALUE|PARAMETERS)", name):
        value = value.strip("'").partition("=")[2] if name.endswith("PARAMETERS") else value
        shell.child().run_text(value.removeprefix("!"), FILE)


_OWN_PROGRAM = re.compile(
    r"(?:^|[\s|!;&])(?:\.{1,2}/|~/|/tmp/|/var/tmp/|\$PWD)|(?:^|[\s|!;&])(?:ba|z|da|k)?sh\s+[^-\s]"
)
"""A program of the workspace's own, or a script of it."""


def _named(name: str, value: str, shell: Shell) -> None:
    """A file that programs run when they start."""
    told = f"{name}={value[:60]}"
    judge_path(value, shell, told)
    shell.child().run_text(value, FILE)
    content = shell.files.get(join(shell.cwd, value))
    if content is not None and known(content):
        shell.child().run_text(content, "")
    elif value != "/dev/null" and ("/" in value or "." in value):
        shell.record.add("ask", f"{told} makes programs run a file that cannot be seen")


def _searched(name: str, value: str, shell: Shell) -> None:
    """Folders in which programs look for code: not those that this command filled."""
    for folder in value.split(":"):
        place = join(shell.cwd, folder or ".")
        fetched = any(
            NETWORK in text and path.startswith(f"{place}/") and _CODE_FILE.search(path)
            for path, text in shell.files.items()
        )
        if fetched or (name != "PATH" and is_temporary(place)):
            told = f"{name}={value[:60]}"
            shell.record.add("ask", f"{told} makes programs load code from {folder or '.'}")


_CODE_FILE = re.compile(
    r"\.(py|pm|pl|rb|[cm]?js|so[\d.]*|dylib|lua|jar|class|jl|r|conf)\Z|/[^./]+\Z"
)


def judge_given(name: str, value: str, shell: Shell) -> None:
    """A variable that a command is given, and might run."""
    judge_variable(name, value, shell)
    if name not in load("interpreters")["variables"] and " " in value:
        guesses.suspect(value, shell, f"{name}={value[:60]}")
