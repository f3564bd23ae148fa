"""One command with its words known: what it is, what it does and what it puts out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from . import builtin, code, deeds, guesses, hooks, interpreters, outputs, wrappers
from .places import is_temporary, judge_path, judge_words
from .record import TooIntricate, join, shown
from .tables import acts_of, base_name, load, shells
from .values import FILE, LISTING, MARKS, NETWORK, UNKNOWN, marks, without_marks
from .words import document, split_words, substitutions

if TYPE_CHECKING:
    from .machine import Shell

MOST_WORDS = 1_000
"""Words of one command that are followed."""
_GLOB = re.compile(r"[*?]|\[.+\]")
_EVALUATING = frozenset({"test", "[", "let", "unset", "read", "printf", "declare", "typeset"})
_EVALUATING |= {"local", "export", "readonly", "mapfile", "readarray"}
"""Builtins that evaluate the subscripts in the names they are given."""
_SILENT = frozenset({"", "}", "{", "!", "do", "done", "then", "fi", "else", ")", "("})


def call(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    """Judge a command; what it would put out."""
    shell.record.step()
    if len(argv) > MOST_WORDS:
        raise TooIntricate
    argv = list(argv)
    while argv and argv[0] in _SILENT:
        argv.pop(0)
    if not argv:
        return ""
    program = argv[0]
    if program in shell.aliases:
        return _alias(argv, shell, stdin)
    if program in shell.functions:
        return _function(argv, shell, stdin)
    name = base_name(program)
    if marks(name) or (marks(program) and not _named_below(program)):
        return _unknown(argv, shell, stdin)
    if _GLOB.search(program) and program not in ("[", "[["):
        shell.record.add("ask", f"{shown(argv)} runs whatever matches {program!r}")
        return ""
    language = code.language(name)
    judge_words(name, argv, code.without_code(language, argv) if language else argv, shell)
    _judge_acts(name, argv, shell, stdin)
    return _run(name, argv, shell, stdin)


def _named_below(program: str) -> bool:
    """True for a path of which only the folder is unknown: ``$VENV/bin/python``."""
    head, _, tail = program.rpartition("/")
    return bool(tail) and NETWORK not in head and "/" in without_marks(program)


def _unknown(argv: list[str], shell: Shell, stdin: str) -> str:
    if NETWORK in argv[0]:
        shell.record.add("ask", f"{shown(argv)} runs what came over the network")
    elif LISTING not in argv[0]:
        shell.record.add("ask", f"{shown(argv)} runs a program whose name cannot be known", "doubt")
    else:
        shell.record.add("ask", f"{shown(argv)} runs every file of a listing")
    return outputs.of("", argv, shell, stdin)


def _alias(argv: list[str], shell: Shell, stdin: str) -> str:
    inner = shell.entering("alias:" + argv[0])
    if inner is None:
        return ""
    aliases = {k: v for k, v in inner.aliases.items() if k != argv[0]}
    rest = " ".join(map(interpreters.quote, argv[1:]))
    text = f"{shell.aliases[argv[0]]} {rest}"
    inner.aliases = aliases
    return inner.run_text(text, stdin)


def _function(argv: list[str], shell: Shell, stdin: str) -> str:
    body = shell.functions[argv[0]]
    # A function may define another of its own name and call that.
    inner = shell.entering(f"function:{argv[0]}\0{id(body)}", argv[1:])
    if inner is None:
        return ""
    inner.arguments = tuple(argv[1:])
    return inner.run(body, stdin)


def _judge_acts(name: str, argv: Sequence[str], shell: Shell, stdin: str) -> None:
    _fit_acts(name, argv, shell, stdin)
    if any(UNKNOWN in word and word != UNKNOWN for word in argv):
        # A variable that holds nothing may only be there to break a word.
        trial = shell.record.trial()
        bare = [word.replace(UNKNOWN, "") for word in argv]
        _fit_acts(name, bare, replace(shell, record=trial), stdin)
        for reason, found in trial.findings.items():
            if found.sort == "act":
                shell.record.add("ask", reason)


def _fit_acts(name: str, argv: Sequence[str], shell: Shell, stdin: str) -> None:
    arguments = " ".join(argv[1:])
    deeds.option_writer(argv, shell)
    for act in acts_of(name):
        if act.deed:
            deeds.DEEDS[act.deed](argv, shell, stdin)
        elif act.fits(arguments):
            shell.record.add(act.verdict, f"{shown(argv)}: {act.reason.format(name=name)}")


def _run(name: str, argv: list[str], shell: Shell, stdin: str) -> str:
    if "/" in argv[0] and join(shell.cwd, argv[0]) in shell.files:
        _judge_program(argv, shell)  # it may bear any name
        return UNKNOWN
    hooks.judge(name, argv, shell)
    _judge_read(name, shell, argv)
    if name in _EVALUATING and (name != "printf" or argv[1:2] == ["-v"]):
        for word in argv[1:]:
            if re.search(r"\w\[[^\]]*(\$\(|`)", word):
                substitutions(word, shell)
    if handler := builtin.HANDLERS.get(name):
        return handler(argv, shell, stdin)
    if name in shells():
        return interpreters.shell(argv, shell, stdin)
    inner = wrappers.unwrap(name, argv, shell, stdin)
    if inner is not None:
        return inner
    if language := code.language(name):
        said = code.run(language, argv, shell, stdin)
        return outputs.of(name, argv, shell, stdin + said)
    _judge_program(argv, shell)
    _judge_files(name, argv, shell, stdin)
    guesses.judge(name, argv, shell, stdin)
    return outputs.of(name, argv, shell, stdin)


def _judge_program(argv: list[str], shell: Shell) -> None:
    """A program that the command itself wrote or fetched."""
    program = argv[0]
    if "/" not in program:
        here = "." in program and join(shell.cwd, program) in shell.files  # `uv run x.py`
        if "PATH" not in shell.variables and program != shell.name and not here:
            return
        # A folder may have been put into PATH: any file of that name.
        tail = "/" + program
        program = next((path for path in shell.files if path.endswith(tail)), tail)
    content = shell.files.get(join(shell.cwd, program))
    if content is None:
        if shell.record.unpacked and (not program.startswith("/") or is_temporary(program)):
            shell.record.add("ask", f"{shown(argv)} runs a program fetched by this command")
        return
    interpreters.run_file(argv, content, shell)


def _judge_files(name: str, argv: Sequence[str], shell: Shell, stdin: str) -> None:
    """Packages this command fetched, and files that are named in the input."""
    if name in load("interpreters")["installers"]:
        for word in argv[1:]:
            if NETWORK in shell.files.get(join(shell.cwd, word), ""):
                shell.record.add("ask", f"{shown(argv)} installs what came over the network")
    if name in ("cpio", "pax") or (name in ("tar", "zip") and {"-T", "-@"} & set(argv)):
        for line in stdin.splitlines():
            judge_path(line.strip(), shell, shown(argv))


def _judge_read(name: str, shell: Shell, argv: Sequence[str]) -> None:
    """Code that this command wrote and that a program runs because of the file's name."""
    for kind, names in load("interpreters")["reads"].get(name, {}).items():
        for path in names:
            content = shell.files.get(join(shell.cwd, path))
            if content is None:
                continue
            if NETWORK in content:
                shell.record.add("ask", f"{shown(argv)} runs {path}, which came over the network")
            elif kind == "makefile":
                builtin.makefile(content, shell, argv)
            elif kind == "json":
                guesses.suspect(content, shell, f"{path}, which {name} reads,")
            elif kind == "shell":
                interpreters.run_code(content, shell.child(), "", shown(argv))
            else:
                language = code.language("python" if kind == "python" else "node")
                assert language is not None
                code.judge(language, content, shell, shown(argv))


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
        _judge_acts(program, argv, shell, "")
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


def follow(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    """Judge a command that another one runs."""
    inner = shell.entering(f"{len(shell.stack)}:{argv[0] if argv else ''}")
    if inner is None or not argv:
        return ""
    said = call(argv, inner, stdin)
    if argv[0] in inner.functions or argv[0] in inner.aliases:
        # Most that run a command know no function of this shell.
        said += call(argv, replace(inner, functions={}, aliases={}), stdin)
    return said
