"""Looks through the programs that start others, such as ``sudo`` and ``xargs``, by a table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

from .parser import MAX_SCRIPT_DEPTH, MAX_SIMPLE_COMMANDS, ParsedCommand, parse_command
from .simple_command import UNKNOWN, SimpleCommand, Word

_NOT_ONLY = ("-C", "--chdir", "-S", "--split", "-o", "--output", "-a")
"""Options of wrappers that do more than start a program: another folder, a script, a file."""
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=", re.ASCII)


@dataclass(frozen=True, slots=True)
class Wrapper:
    """How a program starts another; ``wrappers.yaml`` explains the fields."""

    values: frozenset[str] = frozenset()
    skip: int = 0
    assigns: bool = False
    scripts: frozenset[str] = frozenset()
    joined: bool = False
    subcommands: Mapping[str, int] | None = None
    adds_nothing: bool = False
    elsewhere: bool = False


@cache
def _table() -> Mapping[str, Any]:
    import yaml

    text = files(__package__).joinpath("wrappers.yaml").read_text("utf-8")
    loaded: Mapping[str, Any] = yaml.load(text, yaml.CSafeLoader)
    return loaded


@cache
def wrappers() -> Mapping[str, Wrapper]:
    """The wrappers by name."""
    found = {}
    for name, entry in _table()["wrappers"].items():
        sets = {key: frozenset(entry.get(key, ())) for key in ("values", "scripts")}
        found[name] = Wrapper(**{**entry, **sets})
    return found


@cache
def _names(key: str) -> frozenset[str]:
    return frozenset(_table()[key])


def adds_nothing(command: SimpleCommand) -> bool:
    """True for a wrapper that only starts another program, which is judged by itself."""
    wrapper = wrappers().get(command.program)
    if wrapper is None or not wrapper.adds_nothing or len(command.words) < 2:
        return False
    return not any(word.startswith(_NOT_ONLY) for word in command.arguments)


def runs_elsewhere(command: SimpleCommand) -> bool:
    """True for a command on another machine or in a container, whose paths are not of this one."""
    found = wrappers()
    return any(name in found and found[name].elsewhere for name in command.wrappers)


def unwrap(parsed: ParsedCommand) -> ParsedCommand:
    """Add the commands that wrappers start, each after its wrapper."""
    found = ParsedCommand([], dict(parsed.functions), list(parsed.unread))
    for command in parsed.commands:
        for inner in _unwrapped(command, found, 0):
            found.commands.append(inner)
            if len(found.commands) > MAX_SIMPLE_COMMANDS:
                found.unread.append("it has too many commands")
                return found
    return found


def _unwrapped(command: SimpleCommand, found: ParsedCommand, depth: int) -> Iterator[SimpleCommand]:
    yield command
    if not command.words:
        return
    if depth > MAX_SCRIPT_DEPTH:
        found.unread.append("it is nested too deeply")
        return
    for inner in _started(command, found):
        yield from _unwrapped(inner, found, depth + 1)


def _started(command: SimpleCommand, found: ParsedCommand) -> Iterator[SimpleCommand]:
    """The commands that a command starts itself."""
    name, words = command.program, command.words[1:]
    if name in _names("shells"):
        yield from _shell_script(command, found)
    elif name == "eval":
        yield from _script(command, " ".join(word.text for word in words), found)
    elif name == "trap" and words:
        yield from _script(command, words[0].text, found)
    elif name == "find":
        yield from _find_programs(command)
    elif (wrapper := wrappers().get(name)) is not None:
        yield from _wrapped(command, wrapper, found)


def _shell_script(command: SimpleCommand, found: ParsedCommand) -> Iterator[SimpleCommand]:
    words = command.words[1:]
    options = [w.text for w in words if re.match(r"[-+]\w", w.text)]
    if any("c" in option for option in options if not option.startswith("--")):
        script = next((w.text for w in words if not re.match(r"[-+]\w", w.text)), "")
        yield from _script(command, script, found)
    elif command.stdin is not None and len(options) == len(words):
        yield from _script(command, command.stdin, found)


def _script(command: SimpleCommand, script: str, found: ParsedCommand) -> Iterator[SimpleCommand]:
    """The commands of a script that ``command`` runs."""
    if UNKNOWN in script:
        found.unread.append(f"a script for {command.program} depends on what only the shell knows")
        script = script.replace(UNKNOWN, "$_")
    inner = parse_command(script, len(command.wrappers) + 1)
    found.unread += inner.unread
    found.functions |= inner.functions
    around = (*command.wrappers, command.program)
    for one in inner.commands:
        given = one.input_from | command.input_from
        yield replace(one, wrappers=around, input_from=given)


def _find_programs(command: SimpleCommand) -> Iterator[SimpleCommand]:
    words = command.words[1:]
    texts = [word.text for word in words]
    filtered = any(text in _names("find_filters") for text in texts)
    start = words[0] if words and not texts[0].startswith("-") else Word(".")
    target = Word(start.text + "/" + UNKNOWN) if filtered else start
    for at, text in enumerate(texts):
        if text not in _names("find_exec"):
            continue
        rest = words[at + 1 :]
        end = next((n for n, word in enumerate(rest) if word.text in (";", "+")), len(rest))
        argv = [target if word.text == "{}" else word for word in rest[:end]]
        yield from _inner(command, argv)


def _wrapped(
    command: SimpleCommand, wrapper: Wrapper, found: ParsedCommand
) -> Iterator[SimpleCommand]:
    words = list(command.words[1:])
    if command.program in ("xargs", "parallel"):
        words.append(Word(UNKNOWN))  # what it reads from its input
    skip, subcommands = wrapper.skip, wrapper.subcommands
    assigned: list[str] = []
    while words:
        text = words[0].text
        if text in wrapper.scripts:
            yield from _script(command, words[1].text if len(words) > 1 else "", found)
            return
        if text == "--":
            words = words[1:]
            break
        if text.startswith("-") and len(text) > 1:
            words = words[2 if text in wrapper.values else 1 :]
        elif wrapper.assigns and (name := _ASSIGNMENT.match(text)):
            assigned.append(name[1])
            words = words[1:]
        elif subcommands is not None:
            if text not in subcommands:
                return
            skip, subcommands, words = subcommands[text], None, words[1:]
        elif skip:
            skip, words = skip - 1, words[1:]
        else:
            break
    if wrapper.joined and words:
        yield from _script(command, " ".join(word.text for word in words), found)
    else:
        yield from _inner(command, words, assigned)


def _inner(
    command: SimpleCommand, words: Sequence[Word], assigned: Sequence[str] = ()
) -> Iterator[SimpleCommand]:
    if words:
        yield replace(
            command,
            words=tuple(words),
            assignments=(*command.assignments, *assigned),
            wrappers=(*command.wrappers, command.program),
        )
