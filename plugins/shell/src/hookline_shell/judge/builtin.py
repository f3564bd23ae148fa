"""The shell's own commands that change what later commands mean."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from . import interpreters
from .outputs import formatted
from .places import judge_path
from .record import join, shown
from .values import FILE, MARKS, NETWORK, SECRET, SPLIT, UNKNOWN

if TYPE_CHECKING:
    from .machine import Shell

Handler: TypeAlias = Callable[[Sequence[str], "Shell", str], str]
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
    shell.cwd = join(shell.cwd, target)
    return ""


def _eval(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    return interpreters.run_code(" ".join(argv[1:]), shell, stdin, shown(argv))


def _source(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    if len(argv) < 2:
        return ""
    path = argv[1]
    content = stdin if path in ("/dev/stdin", "/dev/fd/0", "-") else shell.content(path)
    shell_args = shell.arguments
    shell.arguments = tuple(argv[2:]) or shell_args
    said = interpreters.run_code(content, shell, "", shown(argv))
    shell.arguments = shell_args
    return said


def _declare(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    from .commands import judge_variable

    for arg in argv[1:]:
        if match := _ASSIGN.match(arg):
            if match[1] not in shell.variables:
                shell.variables[match[1]] = [match[2]]
            judge_variable(match[1], match[2], shell)
    prints = any(re.fullmatch(r"-\w*[px]\w*", a) for a in argv[1:]) or len(argv) == 1
    return SECRET if prints and not any("=" in a for a in argv) else ""


def _alias(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    for arg in argv[1:]:
        name, sign, value = arg.partition("=")
        if sign:
            shell.aliases[name] = value
            shell.child().run_text(value, FILE)
    return UNKNOWN


def _set(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    if len(argv) == 1:
        return SECRET
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
        shell.record.traps.append((args[0], shell))
    return ""


def _let(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    return ""


def _nothing(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    return ""


def _env(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    from . import wrappers

    said = wrappers.unwrap("env", argv, shell, stdin)
    return SECRET if said is None else said


def _printenv(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    names = [a for a in argv[1:] if not a.startswith("-")]
    return shell.lookup(names[0])[0] if len(names) == 1 else SECRET


def _command(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    from .commands import follow

    rest = list(argv[1:])
    while rest and rest[0].startswith("-"):
        if "v" in rest[0].lower():
            return rest[-1]
        rest.pop(0)
    return follow(rest, shell, stdin)


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
    """A makefile that the command itself gives."""
    for index, arg in enumerate(argv[:-1]):
        if arg in ("-f", "--file", "--makefile"):
            path = argv[index + 1]
            text = stdin if path in ("-", "/dev/stdin") else shell.content(path)
            if NETWORK in text:
                shell.record.add("ask", f"{shown(argv)} runs what came over the network")
            for match in _RECIPE.finditer(text):
                line = next(g for g in match.groups() if g is not None)
                interpreters.run_code(line.replace("$$", "$"), shell.child(), "", shown(argv))
    return UNKNOWN


HANDLERS: dict[str, Handler] = {
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
    "make": _make,
    "gmake": _make,
    "command": _command,
    "which": _which,
    "type": _nothing,
    "hash": _hash,
    "enable": _enable,
    "exit": _nothing,
    "return": _nothing,
    "wait": _nothing,
}
