"""One command with its words known: what it is, what it does and what it puts out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from . import builtin, code, deeds, interpreters, outputs, wrappers
from .places import judge_words
from .record import join, shown
from .tables import acts_of, base_name, load, shells
from .values import FILE, LISTING, MARKS, NETWORK, marks, without_marks

if TYPE_CHECKING:
    from .machine import Shell

_GLOB = re.compile(r"[*?]|\[.+\]")
_SILENT = frozenset({"", "}", "{", "!", "do", "done", "then", "fi", "else", ")", "("})


def call(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    """Judge a command; what it would put out."""
    shell.record.step()
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
    judge_words(name, argv, shell)
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
        shell.record.add("ask", f"{shown(argv)} runs a program whose name cannot be known")
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
    inner = shell.entering(f"{argv[0]}\0{id(body)}")
    if inner is None:
        return ""
    inner.arguments = tuple(argv[1:])
    return inner.run(body, stdin)


def _judge_acts(name: str, argv: list[str], shell: Shell, stdin: str) -> None:
    arguments = " ".join(argv[1:])
    for act in acts_of(name):
        if act.deed:
            deeds.DEEDS[act.deed](argv, shell, stdin)
        elif act.fits(arguments):
            shell.record.add(act.verdict, f"{shown(argv)}: {act.reason.format(name=name)}")


def _run(name: str, argv: list[str], shell: Shell, stdin: str) -> str:
    code.judge_hooks(name, argv, shell)
    if handler := builtin.HANDLERS.get(name):
        return handler(argv, shell, stdin)
    if name in shells():
        return interpreters.shell(argv, shell, stdin)
    inner = wrappers.unwrap(name, argv, shell, stdin)
    if inner is not None:
        return inner
    if language := code.language(name):
        code.run(language, name, argv, shell, stdin)
        return outputs.of(name, argv, shell, stdin)
    _judge_program(argv, shell)
    return outputs.of(name, argv, shell, stdin)


def _judge_program(argv: list[str], shell: Shell) -> None:
    """A program that the command itself wrote or fetched."""
    program = argv[0]
    if "/" not in program:
        return
    content = shell.files.get(join(shell.cwd, program))
    if content is None:
        if shell.record.unpacked and not program.startswith("/"):
            shell.record.add("ask", f"{shown(argv)} runs a program fetched by this command")
        return
    interpreters.run_file(argv, content, shell)


def judge_variable(name: str, value: str, shell: Shell) -> None:
    """A variable set for a command that makes it run something."""
    if name in load("interpreters")["variables"] and value and value[0] not in MARKS:
        shell.child().run_text(value, FILE)
    if name in ("LD_PRELOAD", "LD_AUDIT", "DYLD_INSERT_LIBRARIES"):
        shell.record.add("ask", f"{name}={value[:60]} loads code into the programs it runs")


def follow(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    """Judge a command that another one runs."""
    inner = shell.entering(f"{len(shell.stack)}:{argv[0] if argv else ''}")
    return call(argv, inner, stdin) if inner and argv else ""
