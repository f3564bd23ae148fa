"""Commands that run another command: ``sudo``, ``env``, ``xargs``, ``find -exec``, ``ssh`` …"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .deeds import find_delete
from .outputs import find_names
from .tables import base_name, load
from .values import LISTING, NETWORK, UNKNOWN, known, marks

if TYPE_CHECKING:
    from .machine import Shell

_ASSIGN = re.compile(r"[A-Za-z_]\w*=")


def unwrap(name: str, argv: Sequence[str], shell: Shell, stdin: str) -> str | None:
    """Judge what ``argv`` runs; what that puts out, or None if it runs no other command."""
    if name in _SPECIAL:
        return _SPECIAL[name](argv, shell, stdin)
    rule = load("wrappers").get(name)
    if rule is None:
        return None
    return _follow(rule, list(argv[1:]), shell, stdin)


def _follow(rule: Mapping[str, Any], args: list[str], shell: Shell, stdin: str) -> str | None:
    from .commands import follow, judge_variable

    inside = replace(shell, remote=True) if rule.get("remote") else shell
    for script in _scripts(rule, args):
        inside.child().run_text(script, stdin)
    if after := rule.get("after"):
        if after not in args:
            return None
        return follow(args[args.index(after) + 1 :], inside, stdin)
    rest = _after_options(rule, args)
    if subs := rule.get("sub"):
        if rest and rest[0] in subs:
            return _follow(subs[rest[0]], rest[1:], shell, stdin)
        return None
    if rule.get("none"):
        return None
    if rule.get("each"):
        return "".join(inside.child().run_text(script, stdin) for script in rest)
    rest = rest[rule.get("skip", 0) :]
    if rest and rest[0] == "--":
        rest = rest[1:]
    while rest and _ASSIGN.match(rest[0]) and rule.get("assign"):
        name, _, value = rest.pop(0).partition("=")
        judge_variable(name, value, shell)
    if not rest:
        return NETWORK if rule.get("remote") and rule.get("join") else None
    if rule.get("join"):
        said = inside.child().run_text(" ".join(rest), stdin)
        return (NETWORK if rule.get("remote") else "") + said
    return follow(rest, inside, stdin)


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


def _after_options(rule: Mapping[str, Any], args: Sequence[str]) -> list[str]:
    values = {*rule.get("values", ()), *rule.get("scripts", ())}
    index = 0
    while index < len(args) and args[index].startswith("-") and len(args[index]) > 1:
        option = args[index]
        index += 1
        if option == "--":
            break
        short = not option.startswith("--") and len(option) > 2
        if option in values or (short and "-" + option[-1] in values and option[:2] not in values):
            index += 1
    return list(args[index:])


def _xargs(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    from .commands import follow

    rule = {"values": ["-a", "-d", "-E", "-I", "-L", "-n", "-P", "-s", "--max-args", "--max-procs"]}
    rule["values"] += ["--arg-file", "--delimiter", "--replace", "--max-lines", "-J", "-R", "-S"]
    command = _after_options(rule, argv[1:]) or ["echo"]
    options = argv[1 : len(argv) - len(command)]
    text = stdin.replace("\0", "\n")
    if re.search(r"(^| )(-\w*0|--null)( |$)", " ".join(options)):
        return follow([*command, *stdin.strip("\0").split("\0")[:256]], shell, "")
    if re.search(r"(^| )(-d ?|--delimiter=)\\n", " ".join(options)):
        return follow([*command, *text.split("\n")[:256]], shell, "")
    items = re.findall(r"[^\s\"']+", text) if known(text) else _items(text)
    token = _replaced(options)
    if token:
        lines = [line for line in text.split("\n") if line] if known(text) else items
        return "".join(
            follow([part.replace(token, line) for part in command], shell, "")
            for line in lines[:64] or [UNKNOWN]
        )
    return follow([*command, *items[:256]], shell, "")


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
    from .commands import follow

    rule = {"values": ["-j", "-a", "-I", "--jobs", "--delay", "--timeout", "-N", "-n", "--colsep"]}
    rest = _after_options(rule, argv[1:])
    cut = next((i for i, arg in enumerate(rest) if arg.startswith(":::")), len(rest))
    command, given = rest[:cut], rest[cut + 1 :]
    items = given or _items(stdin) or [UNKNOWN]
    for item in items[:64]:
        if not command:
            shell.child().run_text(item, "")
        elif any("{" in part for part in command) or (len(command) == 1 and " " in command[0]):
            line = " ".join(command).replace("{}", item)
            shell.child().run_text(line if "{}" in " ".join(command) else f"{line} {item}", "")
        else:
            follow([*command, item], shell, "")
    return UNKNOWN


def _find(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    from .commands import follow

    names = find_names(argv)
    for index, arg in enumerate(argv):
        if arg not in ("-exec", "-execdir", "-ok", "-okdir"):
            continue
        command: list[str] = []
        for part in argv[index + 1 :]:
            if part == ";" or (part == "+" and command and command[-1] == "{}"):
                break
            command.append(part)
        if command and base_name(command[0]) in ("rm", "unlink", "shred"):
            find_delete([*argv, "-delete"], shell, stdin)
        for name in names:
            follow([part.replace("{}", name) for part in command], shell, "")
    return "\n".join(names)


def _fd(argv: Sequence[str], shell: Shell, stdin: str) -> str:
    from .commands import follow

    for index, arg in enumerate(argv):
        if arg in ("-x", "-X", "--exec", "--exec-batch"):
            command = [part.replace("{}", LISTING) for part in argv[index + 1 :]]
            tail = [] if LISTING in "".join(command) else [LISTING]
            follow([*command, *tail], shell, "")
    return LISTING


_SPECIAL = {"xargs": _xargs, "gxargs": _xargs, "parallel": _parallel, "find": _find}
_SPECIAL |= {"gfind": _find, "bfs": _find, "fd": _fd, "fdfind": _fd}
