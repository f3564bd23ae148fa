"""The shell's own commands that change what later commands mean."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

from . import interpreters, wrappers
from .outputs import formatted
from .places import is_temporary, judge_path
from .record import join, shown
from .shell import Shell
from .values import ENVIRON, FILE, MARKS, NETWORK, SPLIT, UNKNOWN
from .variables import judge_given, judge_variable

Handler: TypeAlias = Callable[[Sequence[str], Shell, str], str]
_ASSIGN = re.compile(r"([A-Za-z_]\w*)\+?=(.*)\Z", re.DOTALL)


def _cd(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    folders = [a for a in argv[1:] if not a.startswith("-") and not a.startswith("+")]
    target = folders[0] if folders else shell.lookup("HOME")[0]
    if argv[-1:] == ["-"] or argv[0] == "popd":
        target = shell.record.workspace
    elif not folders and argv[0] != "cd":
        return ""
    elif not folders:
        judge_path(target, shell, shown(argv))
    if "CDPATH" in shell.variables and target[:1] not in ("/", "."):
        target = join(shell.variables["CDPATH"][0], target)
    # What is not known may as well be absolute.
    shell.cwd = target if target[:1] in MARKS else join(shell.cwd, target)
    return ""


def _eval(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    return interpreters.run_code(" ".join(argv[1:]), shell, stdin, shown(argv))


def _source(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    if len(argv) < 2:
        return ""
    path = argv[1]
    content = stdin if path in ("/dev/stdin", "/dev/fd/0", "-") else shell.content(path)
    if FILE in content:
        if content == shell.content(path):
            content = content.replace(UNKNOWN, "")  # a hidden file is one like others here
        shell.record.effect("execute", path)
        if is_temporary(join(shell.cwd, path)):
            shell.record.add("ask", f"{shown(argv)} runs a file for temporary use, unseen")
    inner = shell.entering("file:" + join(shell.cwd, path))
    if inner is None:
        return ""
    inner.arguments = tuple(argv[2:]) or shell.arguments
    inner.variables = shell.variables
    said = interpreters.run_code(content, inner, "", shown(argv))
    shell.cwd = inner.cwd
    return said


def _declare(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    judge = judge_given if argv[0] == "export" else judge_variable
    for arg in argv[1:]:
        if match := _ASSIGN.match(arg):
            if match[1] not in shell.variables:
                shell.variables[match[1]] = [match[2]]
            judge(match[1], match[2], shell)
    if any(re.fullmatch(r"-\w*n\w*", a) for a in argv[1:]):
        for arg in argv[1:]:
            if (match := _ASSIGN.match(arg)) and match[1] != match[2]:
                shell.variables.pop(match[1], None)
                shell.references[match[1]] = match[2]
    prints = any(re.fullmatch(r"-\w*[px]\w*", a) for a in argv[1:]) or len(argv) == 1
    return ENVIRON if prints and not any("=" in a for a in argv) else ""


def _alias(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    for arg in argv[1:]:
        name, sign, value = arg.partition("=")
        if sign:
            shell.aliases[name] = value
            shell.child().run_text(value, FILE)
    return UNKNOWN


def _set(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    if len(argv) == 1:
        return ENVIRON
    args = list(argv[1:])
    while args and args[0] != "--" and re.match(r"[-+]\w", args[0]):
        args.pop(0)
    if args:
        shell.arguments = tuple(args[1:] if args[0] == "--" else args)
    return ""


def _shift(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    number = int(argv[1]) if len(argv) > 1 and argv[1].isdigit() else 1
    shell.arguments = shell.arguments[number:]
    return ""


def _read(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    """Variables from the input; a loop body sees every line."""
    names = _without_values(argv)
    lines = [line for line in stdin.split("\n") if line.strip()] or [UNKNOWN]
    if re.search(r" -\w*a\b", " ".join(argv)) and names:
        shell.assign(names[0], [SPLIT.join(lines[0].split())])
        return ""
    for index, name in enumerate(names or ["REPLY"]):
        last = index == max(len(names) - 1, 0)
        values = [_field(line, index, last=last) for line in lines[:24]]
        shell.variables[name] = list(dict.fromkeys(values))
    return ""


def _without_values(argv: Sequence[str]) -> list[str]:
    names: list[str] = []
    skip = False
    for arg in argv[1:]:
        if skip:
            skip = False
        elif re.fullmatch(r"-\w*[dinNptu]", arg):
            skip = True
        elif not arg.startswith("-"):
            names.append(arg)
    return names


def _field(line: str, index: int, *, last: bool) -> str:
    if line and line[0] in MARKS:
        return line
    parts = line.split(None, index) if last else line.split()
    return parts[index].rstrip() if index < len(parts) else ""


def _mapfile(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    names = [a for a in argv[1:] if not a.startswith("-")]
    shell.assign(names[-1] if names else "MAPFILE", [stdin.rstrip("\n").replace("\n", SPLIT)])
    return ""


def _printf(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    args = list(argv[1:])
    name = ""
    if len(args) > 1 and args[0] == "-v":
        name, args = args[1], args[2:]
    if args and args[0] == "--":
        args = args[1:]
    text = formatted(args)
    if name:
        shell.assign(name, [text])
        return ""
    return text


def _trap(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    args = [a for a in argv[1:] if a not in ("-l", "-p", "--")]
    if len(args) > 1 and args[0] != "-":
        shell.record.traps.append(partial(shell.run_text, args[0], ""))
    return ""


_JOB = re.compile(r"(?m)^\s*(?:@\w+|(?:[\d*/,-]+\s+){5})\s*(.+)$")


def _crontab(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    """The commands of a table; that it is installed is an act of its own."""
    text = stdin + "".join(shell.files.get(join(shell.cwd, a), "") for a in argv[1:])
    for match in _JOB.finditer(text):
        interpreters.run_code(match[1], shell.child(), "", shown(argv))
    return UNKNOWN if "-l" in argv else ""


def _type(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    return _which(argv, shell, stdin) if argv[1:2] in (["-p"], ["-P"]) else UNKNOWN


def _let(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    return ""


def _nothing(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    return ""


def _env(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    said = wrappers.unwrap("env", argv, shell, stdin)
    return ENVIRON if said is None else said


def _printenv(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    names = [a for a in argv[1:] if not a.startswith("-")]
    return shell.lookup(names[0])[0] if len(names) == 1 else ENVIRON


def _command(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    rest = list(argv[1:])
    while rest and rest[0].startswith("-"):
        if "v" in rest[0].lower():
            return rest[-1]
        rest.pop(0)
    return shell.follow(rest, stdin)


def _which(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    names = [a for a in argv[1:] if not a.startswith("-")]
    # The name alone: where a program lies is not a path outside.
    return "\n".join(names)


def _hash(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    if "-p" in argv and len(argv) > argv.index("-p") + 2:
        shell.aliases[argv[argv.index("-p") + 2]] = argv[argv.index("-p") + 1]
    return ""


def _enable(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    if "-f" in argv:
        shell.record.add("ask", f"{shown(argv)} loads code into the shell")
    return ""


_RECIPE = re.compile(r"(?m)^\t[@-]*(.*)$|^[^\t#\n:]*:[^;\n=]*;(.*)$|\$\(shell ([^)]*)\)")


def _make(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    """A makefile that the command itself gives; the usual names are in ``reads``."""
    for arg, after in zip(argv, [*argv[1:], ""], strict=True):
        path = after if arg in ("-f", "--file", "--makefile") else ""
        if arg.startswith(("-f", "--file=", "--makefile=")) and not path:
            path = re.sub(r"\A(-f|--\w+=)", "", arg)
        if path:
            text = stdin if path in ("-", "/dev/stdin") else shell.content(path)
            if NETWORK in text:
                shell.record.add("ask", f"{shown(argv)} runs what came over the network")
            makefile(text, shell, argv)
    return UNKNOWN


_MAKE_SETS = re.compile(r"(?m)^(?:export )?(\w+)\s*[:?+]*=[ \t]*(.*)$")


def makefile(text: str, shell: Shell, argv: Sequence[str]) -> None:
    """Judge the recipes of a makefile as scripts, its own variables put in."""
    values = dict(_MAKE_SETS.findall(text))
    if re.search(r"(?m)^\.SHELLFLAGS\s*[:?]*=|^SHELL\s*[:?]*=(?!\s*\S*sh\s*$)", text):
        shell.record.add("ask", f"{shown(argv)} runs its recipes by another program than a shell")
    for match in _RECIPE.finditer(text):
        line = next(g for g in match.groups() if g is not None)
        if re.search(r"\$[({]MAKE[)}].*&", line):
            shell.record.add("deny", f"{shown(argv)} starts itself again and again (a fork bomb)")
        line = re.sub(
            r"\$\$|\$[({](\w+)[)}]", lambda m: values.get(m[1], "x") if m[1] else "$", line
        )
        interpreters.run_code(line, shell.child(), "", shown(argv))


HANDLERS: dict[str, Handler] = {
    "make": _make,
    "gmake": _make,
    "cd": _cd,
    "pushd": _cd,
    "popd": _cd,
    "eval": _eval,
    "source": _source,
    ".": _source,
    "export": _declare,
    "declare": _declare,
    "local": _declare,
    "readonly": _declare,
    "typeset": _declare,
    "alias": _alias,
    "set": _set,
    "shift": _shift,
    "read": _read,
    "mapfile": _mapfile,
    "readarray": _mapfile,
    "printf": _printf,
    "trap": _trap,
    "let": _let,
    "unset": _nothing,
    "test": _nothing,
    "[": _nothing,
    "[[": _nothing,
    ":": _nothing,
    "true": _nothing,
    "false": _nothing,
    "unalias": _nothing,
    "env": _env,
    "genv": _env,
    "printenv": _printenv,
    "command": _command,
    "which": _which,
    "type": _type,
    "crontab": _crontab,
    "hash": _hash,
    "enable": _enable,
    "exit": _nothing,
    "return": _nothing,
    "wait": _nothing,
}
