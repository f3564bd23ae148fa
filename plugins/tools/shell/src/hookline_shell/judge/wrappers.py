"""Commands that run another command: ``sudo``, ``env``, ``xargs``, ``find -exec``, ``ssh`` …"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from . import interpreters
from .deeds import find_delete
from .options import after_options, operands
from .outputs import find_names
from .record import TooIntricate, join, shown
from .scan import ansi
from .shell import Shell
from .tables import base_name, load
from .values import ENDLESS, LISTING, NETWORK, SPLIT, UNKNOWN, blend, known, marks
from .variables import judge_variable

_MOST_ACTIONS = 16
_LOCAL = re.compile(r"(?:^| |@)(?:localhost|127\.0\.0\.1|::1)(?: |$)")
_ASSIGN = re.compile(r"([^=\s-][^=]*)=(.*)\Z", re.DOTALL)


def unwrap(name: str, argv: Sequence[str], shell: Shell, stdin: str) -> str | None:
    """Judge what ``argv`` runs; what that puts out, or None if it runs no other command."""
    if name in _SPECIAL:
        return _SPECIAL[name](argv, shell, stdin)
    rule = load("wrappers").get(name)
    if rule is None:
        return None
    return _follow(rule, list(argv[1:]), shell, stdin)


def _follow(rule: Mapping[str, Any], args: list[str], shell: Shell, stdin: str) -> str | None:
    """Judge the command among ``args`` as ``rule`` (a row of wrappers.yaml) says it is found."""
    here = _LOCAL.search(" ".join(args)) if rule.get("join") else None
    inside = replace(shell, remote=True) if rule.get("remote") and not here else shell
    inside = _moved(rule, args, inside)
    said = "".join(inside.child().run_text(script, stdin) for script in _scripts(rule, args))
    for mark in rule.get("after", ()):
        if mark in args:
            return (UNKNOWN if rule.get("remote") else said) + _command(
                args[args.index(mark) + 1 :], inside, stdin
            )
    rest = after_options(rule, args)
    if subs := rule.get("sub"):
        if rest and rest[0] in subs:
            return _follow(subs[rest[0]], rest[1:], inside, stdin)
        return said or None
    if rule.get("none"):
        return said + _without_command(rule, inside, stdin) or None
    if rule.get("each"):
        return said + "".join(inside.child().run_text(script, stdin) for script in rest)
    if rule.get("into") and rest:
        inside = replace(inside, cwd=join(inside.cwd, rest[0]))
    rest = _command_of(rule, args, rest, inside)
    if not rest:
        return said + _without_command(rule, inside, stdin) or None
    if rule.get("remote") and not rule.get("join"):
        return blend([said, _command(rest, inside, stdin)])  # files of another machine
    if rule.get("join"):
        said += inside.child().run_text(" ".join(rest), stdin)
        return (NETWORK if rule.get("remote") else "") + said
    return said + _command(rest, inside, stdin)


def _moved(rule: Mapping[str, Any], args: Sequence[str], shell: Shell) -> Shell:
    """The shell in the folder that an option names."""
    for option in rule.get("chdir", ()):
        for index, arg in enumerate(args):
            value = arg.removeprefix(option + "=") if arg.startswith(option + "=") else ""
            if arg == option and index + 1 < len(args):
                value = args[index + 1]
            if value:
                return replace(shell, cwd=join(shell.cwd, value))
    return shell


def _command(words: Sequence[str], shell: Shell, stdin: str) -> str:
    """Judge words that are a command, or one word that is a whole script."""
    words = list(words[1:] if words[:1] == ["--"] else words)
    if len(words) == 1 and re.search(r"\s", words[0]):
        return shell.child().run_text(words[0], stdin)
    return shell.follow(words, stdin) if words else ""


def _command_of(
    rule: Mapping[str, Any], args: Sequence[str], rest: list[str], shell: Shell
) -> list[str]:
    """The words of the command itself: without operands before it and assignments."""
    rest = rest[rule.get("skip", 0) :]
    if rest[:1] in (["--"], ["-"]):
        rest = rest[1:]
    while rest and rule.get("assign") and (match := _ASSIGN.match(rest[0])):
        judge_variable(match[1], match[2], shell)
        rest = rest[1:]
    for option in rule.get("entry", ()):
        for index, arg in enumerate(args):
            if arg.startswith(option + "="):
                return [arg[len(option) + 1 :], *rest]
            if arg == option and index + 1 < len(args):
                return [args[index + 1], *rest]
    return rest


def _without_command(rule: Mapping[str, Any], shell: Shell, stdin: str) -> str:
    """What a wrapper does that is given no command: some run their input."""
    if rule.get("stdin") and stdin:
        interpreters.run_code(stdin, shell.child(), "", "its input")
    return NETWORK if rule.get("remote") and rule.get("join") else ""


def _scripts(rule: Mapping[str, Any], args: Sequence[str]) -> list[str]:
    found = []
    for option in rule.get("scripts", ()):
        for index, arg in enumerate(args):
            if arg == option and index + 1 < len(args):
                found.append(args[index + 1])
            elif option.startswith("--") and arg.startswith(option + "="):
                found.append(arg[len(option) + 1 :])
            elif len(option) == 2 and re.fullmatch(rf"-[a-zA-Z]*{option[1]}", arg):
                found.extend(args[index + 1 : index + 2])
    return list(dict.fromkeys(found))


def _xargs(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    rule = {"values": ["-a", "-d", "-E", "-I", "-L", "-n", "-P", "-s", "--max-args", "--max-procs"]}
    rule["values"] += ["--arg-file", "--delimiter", "--replace", "--max-lines", "-J", "-R", "-S"]
    command = after_options(rule, argv[1:]) or ["echo"]
    options = argv[1 : len(argv) - len(command)]
    stdin = _argument_file(argv, shell) or stdin
    if ENDLESS in stdin:
        shell.record.add("ask", f"{shown(argv)} starts processes without end")
        stdin = stdin.replace(ENDLESS, "")
    parts, text = _parts(stdin, " ".join(options)), stdin.replace("\0", "\n")
    token = _replaced(options)
    if token:
        lines = parts or [line for line in text.split("\n") if line]
        lines = lines if known(text) else _items(text)
        return "".join(
            shell.follow([part.replace(token, line) for part in command], "")
            for line in lines[:64] or [UNKNOWN]
        )
    items = re.findall(r"[^\s\"']+", text) if known(text) else _items(text)
    return shell.follow([*command, *(parts or items)[:256]], "")


def _parts(text: str, options: str) -> list[str]:
    """What ``-0`` and ``-d '\\n'`` make of the input; nothing where blanks divide it."""
    if re.search(r"(^| )(-\w*0|--null)\b", options):
        return text.strip("\0").split("\0")
    if re.search(r"(^| )(-d ?|--delimiter=)\\n", options):
        return text.split("\n")
    return []


def _argument_file(argv: Sequence[str], shell: Shell) -> str:
    """The content of the file that ``-a`` names, if that is known."""
    for option, value in itertools.pairwise(argv):
        if option in ("-a", "--arg-file", "--argfile"):
            return "" if value in ("-", "/dev/stdin") else shell.content(value)
    return ""


def _items(text: str) -> list[str]:
    """The words of a partly unknown input."""
    return [item for item in re.split(r"\s+", text) if item] or [marks(text)]


def _replaced(options: Sequence[str]) -> str:
    for index, option in enumerate(options):
        if option in ("-I", "-J", "--replace") and index + 1 < len(options):
            return options[index + 1]
        if option.startswith(("-I", "--replace=")):
            return option.removeprefix("--replace=").removeprefix("-I")
        if option in ("-i", "--replace"):
            return "{}"
    return ""


def _parallel(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    rule = {"values": ["-j", "-a", "-I", "--jobs", "--delay", "--timeout", "-N", "-n", "--colsep"]}
    rest = after_options(rule, argv[1:])
    stdin = _argument_file(argv, shell) or stdin
    cut = next((i for i, arg in enumerate(rest) if arg.startswith(":::")), len(rest))
    command, given = rest[:cut], rest[cut + 1 :]
    items = given or [line for line in stdin.splitlines() if line] or [UNKNOWN]
    for item in items[:64]:
        if not command:
            interpreters.run_code(item, shell.child(), "", shown(argv))
        elif any("{" in part for part in command) or (len(command) == 1 and " " in command[0]):
            line = " ".join(command).replace("{}", item)
            shell.child().run_text(line if "{}" in " ".join(command) else f"{line} {item}", "")
        else:
            shell.follow([*command, item], "")
    return UNKNOWN


def _find(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    names = find_names(argv)
    places = [i for i, arg in enumerate(argv) if arg in ("-exec", "-execdir", "-ok", "-okdir")]
    if len(places) > _MOST_ACTIONS:
        raise TooIntricate
    for index in places:
        command: list[str] = []
        for part in argv[index + 1 :]:
            if part == ";" or (part == "+" and command and command[-1] == "{}"):
                break
            command.append(part)
        if command and base_name(command[0]) in _REMOVERS:
            find_delete([*argv, "-delete"], shell, stdin)
        for name in names:
            shell.follow([part.replace("{}", name) for part in command], "")
    if "-printf" in argv[:-1]:
        return "".join(ansi(argv[argv.index("-printf") + 1]) for _ in names)
    return "\n".join(names)


_REMOVERS = frozenset({"rm", "unlink", "shred"})
_FD_FILTERS = ("-e", "--ext", "-E", "--exclude", "-S", "--size", "--changed", "--newer", "--older")
_FD_VALUES = ["-d", "-t", "-j", "-c", "--max-depth", "--min-depth", "--type", "--threads"]


def _fd(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    for index, arg in enumerate(argv):
        if arg in ("-x", "-X", "--exec", "--exec-batch"):
            command = [part.replace("{}", LISTING) for part in argv[index + 1 :]]
            given = operands(argv[1:index], _FD_VALUES)
            every = not given or given[0] in (".", ".*", "")
            every = every and not any(one.startswith(_FD_FILTERS) for one in argv[1:index])
            if every and command and base_name(command[0]) in _REMOVERS:
                find_delete(["find", *(given[1:] or ["."]), "-delete"], shell, stdin)
            tail = [] if LISTING in "".join(command) else [LISTING]
            shell.follow([*command, *tail], "")
    return LISTING


def _coproc(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    """``coproc command``; what is then written to it is read by :class:`.machine.Streams`."""
    said = shell.forked().follow(argv[1:], stdin)
    shell.variables["COPROC"] = [f"61{SPLIT}62"]
    shell.files["/dev/fd/61"] = said
    return said


_SPECIAL = {
    "coproc": _coproc,
    "xargs": _xargs,
    "gxargs": _xargs,
    "parallel": _parallel,
    "find": _find,
}
_SPECIAL |= {"gfind": _find, "bfs": _find, "fd": _fd, "fdfind": _fd}
