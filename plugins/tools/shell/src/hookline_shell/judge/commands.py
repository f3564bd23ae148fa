"""One command with its words known: what it is, what it does and what it puts out."""

from __future__ import annotations

import re
from collections.abc import Sequence

from . import (
    acts,
    builtin,
    code,
    files,
    guesses,
    hooks,
    interpreters,
    loads,
    outputs,
    trees,
    wrappers,
)
from .places import is_temporary, judge_path, judge_words
from .record import TooIntricate, join, shown
from .shell import Shell
from .tables import base_name, known_programs, load, runners, shells
from .values import HOOKLINE, LISTING, NETWORK, UNKNOWN, marks, without_marks
from .words import substitutions

MOST_WORDS = 1_000
"""Words of one command that are followed."""
_PROGRAMS = ("/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/")
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
    if _is_hookline(name, argv, shell):
        shell.record.effect("configure", "hookline")
        shell.record.add("once", f"{shown(argv)} runs hookline, which the agent may not administer")
    acts.judge(name, argv, shell, stdin)
    files.judge(name, argv, shell)
    trees.judge(name, argv, shell, stdin)
    loads.judge(name, argv, shell, stdin)
    return _run(name, argv, shell, stdin)


def _is_hookline(name: str, argv: Sequence[str], shell: Shell) -> bool:
    """True for any way to start the program itself, by whichever name it was given."""
    if name in ("hookline", "hookline-cli"):
        return True
    if HOOKLINE in shell.files.get(join(shell.cwd, argv[0]), ""):
        return True
    if not name.startswith(("python", "pypy", "uvx", "pipx", "uv")):
        return False
    named = (word.replace("\\", "/").rpartition("/")[2] for word in argv[1:])
    return any(_OWN_NAME.fullmatch(word) for word in named) and "pip" not in argv[1:2]


_OWN_NAME = re.compile(r"hookline(\.__main__|\.cli(\.\w+)*|[=@]=?[\w.]+|\[[\w,-]+\])?")


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


def _run(name: str, argv: list[str], shell: Shell, stdin: str) -> str:
    if "/" in argv[0] and join(shell.cwd, argv[0]) in shell.files:
        _judge_program(argv, shell)  # it may bear any name
        return UNKNOWN
    if "/" in argv[0] and not shell.remote and not argv[0].startswith(_PROGRAMS):
        shell.record.effect("execute", argv[0])
    elif name in runners() and not loads.only_looks(name, argv):
        shell.record.effect("execute", name)
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
    if name not in known_programs() and "/" not in argv[0] and not shell.remote:
        shell.record.effect("unknown", name)
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
    code.run_file(argv, content, shell)


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
                guesses.orders(content, shell, f"{path}, which {name} reads,")
            elif kind == "shell":
                interpreters.run_code(content, shell.child(), "", shown(argv))
            else:
                language = code.language("python" if kind == "python" else "node")
                assert language is not None
                code.judge(language, content, shell, shown(argv))
