"""What a command may do, by the words of the programs that it starts and ``data/effects.yaml``.

No script is read and no variable followed. A program that no packaged rule allows may run anything,
so it has the effect ``execute``; what cannot be read has ``unknown``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from hookline_hookspecs import Effect, EffectKind, Paths, ToolCall

from .command_patterns import Arguments, CommandPattern, program_names
from .commands import UNKNOWN, SimpleCommand
from .commands.wrappers import adds_nothing
from .coverage import part_rules, with_folders
from .packaged_rules import packaged_rules
from .places import HARMLESS_DEVICES, NETWORK_DEVICES, Places
from .rule_set import parsed_command, places_of

MAX_EFFECTS = 200
"""Effects of one command that are listed."""
_URL = re.compile(r"(?:https?|ftp|ssh|git|wss?)://[^\s\"'`<>|;)]+", re.IGNORECASE)
_HOST = re.compile(r"(?:[\w.-]+@)?((?:[\w-]+\.)+[\w-]+|localhost|\d+(?:\.\d+){3})(?::|/|$)")
_REMOTE = re.compile(r"(?:[\w.-]+@)?([\w.-]+):")
_NAMES_NO_FILES = {"git", *program_names("no_paths")}
Target = Literal["", "hosts", "paths"]


@dataclass(frozen=True, slots=True)
class EffectRule:
    """An effect, the patterns of the commands that have it, and what its targets are."""

    effect: EffectKind
    target: Target
    patterns: tuple[CommandPattern, ...]

    def is_about(self, command: SimpleCommand, places: Places) -> bool:
        """True if the command has the effect."""
        return any(pattern.matches(command, places) for pattern in self.patterns)


@cache
def _table() -> Mapping[str, Any]:
    import yaml

    text = files(__package__).joinpath("data", "effects.yaml").read_text("utf-8")
    loaded: Mapping[str, Any] = yaml.load(text, yaml.CSafeLoader)
    return loaded


@cache
def effect_rules() -> tuple[EffectRule, ...]:
    """The rules of ``data/effects.yaml``."""
    return tuple(
        EffectRule(
            entry["effect"],
            entry.get("target", ""),
            tuple(CommandPattern.parse(text) for text in entry["rule"]),
        )
        for entry in _table()["effects"]
    )


def command_effects(call: ToolCall, paths: Paths) -> tuple[Effect, ...]:
    """What a call of ``bash`` may do, each effect once."""
    command = call.arguments.get("command")
    if not isinstance(command, str):
        return ()
    parsed, places = parsed_command(command), places_of(call, paths)
    found: dict[Effect, None] = {}
    if parsed.unread:
        found[Effect("unknown")] = None
    allowed = [one.rule for one in packaged_rules() if one.rule.kind == "allow"]
    uncovered = {
        id(part) for part, rule in part_rules(parsed, allowed, places, paths) if rule is None
    }
    for part, there in with_folders(parsed, places):
        for effect in _of_part(part, there, is_covered=id(part) not in uncovered):
            found[effect] = None
    return tuple(found)[:MAX_EFFECTS]


def _of_part(part: SimpleCommand, places: Places, *, is_covered: bool) -> Iterator[Effect]:
    yield from _of_redirects(part, places)
    rules = [rule for rule in effect_rules() if part.words and rule.is_about(part, places)]
    for rule in rules:
        yield from _with_targets(rule, part, places)
    if part.program == UNKNOWN:
        yield Effect("unknown", part.text)
        return
    urls = _code_urls(part)
    yield from (Effect("network", url) for url in urls)
    if part.words and not is_covered and not (rules and not _runs_code(rules)):
        if not adds_nothing(part):
            yield Effect("execute", part.text)
    elif is_covered and not rules and part.program not in _NAMES_NO_FILES:
        yield from (Effect("read", path) for path in _paths(part, places))


def _runs_code(rules: Iterable[EffectRule]) -> bool:
    """True for installers: what they fetch runs."""
    return any(rule.effect == "network" and not rule.target for rule in rules)


def _of_redirects(part: SimpleCommand, places: Places) -> Iterator[Effect]:
    for redirect in part.redirects:
        text = redirect.target.text
        path = places.absolute(text)
        if path is None:
            yield Effect("unknown") if redirect.writes else Effect("read")
        elif path.startswith(NETWORK_DEVICES):
            yield Effect("send", path.split("/")[3] if path.count("/") > 3 else path)
        elif path not in HARMLESS_DEVICES:
            yield Effect("write" if redirect.writes else "read", path)
            followed = places.kinds(text) & {"control", "git"} or places.caution(path)
            if redirect.writes and followed:
                yield Effect("configure", path)


def _with_targets(rule: EffectRule, part: SimpleCommand, places: Places) -> Iterator[Effect]:
    if rule.target == "paths":
        # What only the shell knows is below the folder, as far as the sandbox shows anything else.
        targets = list(_paths(part, places)) or [places.folder or places.workspace]
    elif rule.target == "hosts":
        targets = list(_hosts(part))
    else:
        targets = []
    for target in targets or [part.text]:
        yield Effect(rule.effect, target)


def _hosts(part: SimpleCommand) -> Iterator[str]:
    """The addresses and hosts among the words; else the first operand behind a subcommand."""
    operands = Arguments.of(part).operands
    found = False
    for word in part.arguments:
        for url in _URL.findall(word):
            found = True
            yield url.replace(UNKNOWN, "…")
    for word in operands:
        if "://" in word:
            continue
        if host := _HOST.match(word) or _REMOTE.match(word):
            found = True
            yield host[1]
    if not found and part.program == "git" and len(operands) > 1:
        yield operands[1]


def _paths(part: SimpleCommand, places: Places) -> Iterator[str]:
    for word in Arguments.of(part).operands:
        path = places.absolute(word) if "://" not in word else None
        if path is not None:
            yield path


def _code_urls(part: SimpleCommand) -> list[str]:
    """The addresses in code that is given on the command line or as a here-document."""
    options = _table()["code_options"]
    code = [
        word
        for before, word in zip(part.arguments, part.arguments[1:], strict=False)
        if before in options
    ]
    if part.stdin:
        code.append(part.stdin)
    return [url for text in code for url in _URL.findall(text)]
