"""Which rule decides about a call: deny before ask before allow.

An allow rule that a person wrote answers what a packaged rule would ask, never what a rule of a
person or of the project asks or denies.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from hookline_hookspecs import Paths, ToolCall

from .commands import ParsedCommand, SimpleCommand, Word, parse_command
from .commands.wrappers import runs_elsewhere, unwrap
from .coverage import part_rules, with_folders
from .downloads import with_downloads
from .network_patterns import NETWORK, host_and_port
from .packaged_rules import outside_rules
from .places import Places, home_folder
from .rules import COMMAND_TOOL, PACKAGED, Kind, Rule, RuleError, parse_rule

MAX_PATHS = 200
"""Paths of one call that are matched."""
_PATH_ARGUMENTS = ("path", "paths", "file", "file_path", "folder")
_URL_ARGUMENTS = ("url", "urls")


@dataclass(frozen=True, slots=True)
class Decision:
    """The rule that decides, and the part of the call that it is about; both empty if none does."""

    kind: Kind | None = None
    rule: Rule | None = None
    part: str = ""


UNDECIDED = Decision()


@lru_cache(maxsize=128)
def parsed_command(command: str) -> ParsedCommand:
    """The parts of a command, with those that wrappers start. Do not change the result."""
    return unwrap(parse_command(command))


def matches_rule(text: str, call: ToolCall, paths: Paths) -> bool:
    """True if a rule is about a call, or if that cannot be known."""
    try:
        rule = parse_rule("deny", text, "")
    except RuleError:
        return True
    if RuleSet([rule]).decide(call, paths).kind == "deny":
        return True
    command = call.arguments.get("command")
    is_command = rule.names(COMMAND_TOOL) and call.name == COMMAND_TOOL
    return is_command and isinstance(command, str) and bool(parsed_command(command).unread)


def covered_by(texts: Iterable[str], call: ToolCall, paths: Paths) -> bool:
    """True if allow rules cover every part of a call; those that cannot be read cover nothing."""
    rules = []
    for text in texts:
        with suppress(RuleError):
            rules.append(parse_rule("allow", text, ""))
    return RuleSet(rules).decide(call, paths).kind == "allow"


class RuleSet:
    """Rules of every level, in the order in which they are tried."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules = tuple(rules)

    def of(self, kind: Kind, tool: str, *, packaged: bool | None = None) -> list[Rule]:
        """The rules of a kind about a tool."""
        return [
            rule
            for rule in self.rules
            if rule.kind == kind
            and rule.names(tool)
            and (packaged is None or packaged == (rule.where == PACKAGED))
        ]

    def decide(self, call: ToolCall, paths: Paths, *, sandboxed: bool = False) -> Decision:
        """The decision about a call. ``sandboxed``: it would run in the sandbox."""
        if call.name == COMMAND_TOOL:
            command = call.arguments.get("command")
            return (
                self._decide_command(call, command, paths, sandboxed=sandboxed)
                if isinstance(command, str)
                else UNDECIDED
            )
        for kind in ("deny", "ask", "allow"):
            for rule in self.of(kind, call.name):
                if about(rule, call, paths):
                    return Decision(kind, rule)
        return UNDECIDED

    def _decide_command(
        self, call: ToolCall, command: str, paths: Paths, *, sandboxed: bool
    ) -> Decision:
        parsed, places = parsed_command(command), places_of(call, paths)
        denied = self._matching("deny", command, parsed, places)
        if denied is not None:
            return denied
        asked = self._matching("ask", command, parsed, places, packaged=False)
        if asked is not None:
            return asked
        covered = self._covered(command, parsed, places, paths)
        by_person = {id(part): rule for part, rule in covered if rule and rule.where != PACKAGED}
        asked = self._matching("ask", command, parsed, places, packaged=True, allowed=by_person)
        is_exact = any(rule.exact_command is not None for rule in by_person.values())
        if asked is not None and asked.rule is not None and (asked.rule.once or not is_exact):
            return asked
        if sandboxed and (scope := self._sandbox_scope()) and not part_outside(call, paths):
            return Decision("allow", scope, command)
        rules = [rule for _, rule in covered if rule is not None]
        if parsed.unread and not any(rule.pattern is None or rule.exact_command for rule in rules):
            return UNDECIDED
        if not covered or len(rules) < len(covered):
            return UNDECIDED
        packaged = next((rule for rule in rules if needs_person(rule)), None)
        by_a_person = next((rule for rule in rules if rule.where != PACKAGED), rules[0])
        chosen = packaged or by_a_person
        return Decision("allow", chosen, covered[0][0].text)

    def _sandbox_scope(self) -> Rule | None:
        rules = self.of("allow", COMMAND_TOOL)
        return next((rule for rule in rules if rule.is_sandbox_scope), None)

    def _covered(
        self, command: str, parsed: ParsedCommand, places: Places, paths: Paths
    ) -> list[tuple[SimpleCommand, Rule | None]]:
        rules = self.of("allow", COMMAND_TOOL)
        for rule in rules:
            if rule.exact_command is not None and rule.exact_command == command.strip():
                whole = SimpleCommand((Word(command.strip()),))
                return [(whole, rule)] if _is_bound(rule, parsed, places) else []
        return part_rules(parsed, rules, places, paths)

    def _matching(
        self,
        kind: Kind,
        command: str,
        parsed: ParsedCommand,
        places: Places,
        *,
        packaged: bool | None = None,
        allowed: Mapping[int, Rule] | None = None,
    ) -> Decision | None:
        """The first rule of a kind that matches a part of the command.

        ``allowed`` are the allow rules of a person by the ``id`` of the part that they cover: they
        answer what they name themselves.
        """
        rules = self.of(kind, COMMAND_TOOL, packaged=packaged)
        for rule in rules:
            if rule.pattern is None or rule.exact_command == command.strip():
                return Decision(kind, rule, command)
        patterns = [rule for rule in rules if rule.command is not None]
        denied = self.of("deny", COMMAND_TOOL, packaged=True) if kind == "ask" and packaged else []
        for part, there in with_downloads(with_folders(parsed, places)):
            allow = (allowed or {}).get(id(part))
            tried = patterns
            if runs_elsewhere(part):  # what is denied here is asked about there
                tried = _elsewhere(kind, patterns, denied)
            for one in (part, *_writes(part)):
                for rule in tried:
                    if not _has_trait(rule, one, parsed) or not _is_about(rule, one, there):
                        continue
                    if rule.once or not _names(allow, rule, there):
                        return Decision(kind, rule, one.text)
        return None


def needs_person(allow: Rule | None) -> bool:
    """True if no rule, or only a packaged one, allows something that changes anything."""
    return allow is None or (allow.where == PACKAGED and not allow.reads)


def _elsewhere(kind: Kind, rules: Sequence[Rule], denied: Sequence[Rule]) -> list[Rule]:
    """The rules for a command of another machine: there the packaged ones deny nothing."""
    if kind == "deny":
        return [rule for rule in rules if rule.where != PACKAGED]
    return [*rules, *denied]


def _is_about(rule: Rule, command: SimpleCommand, places: Places) -> bool:
    """True if an ask or deny rule is about a command, and none of its exceptions."""
    if rule.command is None or not rule.command.matches(command, places):
        return False
    if rule.reads_from and command.input_from.isdisjoint(rule.reads_from):
        return False
    return not any(one.command and one.command.matches(command, places) for one in rule.unless)


def _has_trait(rule: Rule, command: SimpleCommand, parsed: ParsedCommand) -> bool:
    if rule.trait == "downloaded":
        return command.is_downloaded
    if rule.trait == "forks":
        return parsed.functions.get(command.program, 0) > 1
    return True


def _names(allow: Rule | None, asked: Rule, places: Places) -> bool:
    """True if an allow rule itself names what a rule asks about: ``git push *`` does not name
    ``git push --force``."""
    if allow is None or allow.pattern is None:
        return False
    words = allow.pattern.split()
    named = [Word(word.partition("|")[0]) for word in (words[:-1] if words[-1] == "*" else words)]
    return _is_about(asked, SimpleCommand(tuple(named)), places)


def _writes(command: SimpleCommand) -> Sequence[SimpleCommand]:
    """The files that are opened for writing, each as a call of ``>``."""
    return [SimpleCommand((Word(">"), one.target)) for one in command.redirects if one.writes]


def _is_bound(rule: Rule, parsed: ParsedCommand, places: Places) -> bool:
    from .content import matches_digest

    if not rule.digest:
        return True
    commands = [(part, there) for part, there in with_folders(parsed, places) if part.words]
    return any(matches_digest(part, there, rule.digest) for part, there in commands)


@dataclass(frozen=True, slots=True)
class OutsidePart:
    """A part of a command that does not work in the sandbox, and why, as a predicate."""

    text: str
    why: str


def part_outside(call: ToolCall, paths: Paths) -> OutsidePart | None:
    """The first part of a command that does not work in the sandbox."""
    command = call.arguments.get("command")
    if call.name != COMMAND_TOOL or not isinstance(command, str):
        return None
    for part, there in with_folders(parsed_command(command), places_of(call, paths)):
        for one in (part, *_writes(part)):
            for packaged in outside_rules():
                if _is_about(packaged.rule, one, there):
                    return OutsidePart(one.text, packaged.rule.why)
    return None


def places_of(call: ToolCall, paths: Paths) -> Places:
    """The places that the words of a command name, from the folder in which it runs."""
    workspace = str(paths.workspace)
    workdir = call.arguments.get("workdir")
    folder = workspace
    if isinstance(workdir, str) and workdir:
        folder = os.path.normpath(Path(workspace, os.path.expanduser(workdir)))  # noqa: PTH111
    return Places(workspace, home_folder(), paths.caution, folder)


def about(rule: Rule, call: ToolCall, paths: Paths) -> bool:
    """True if a rule that is not about commands is about a call.

    An allow rule must be about every file and address of the call, others about one.
    """
    if rule.pattern is None:
        return True
    strictly = rule.kind == "allow"
    if rule.network is not None:
        asked = host_and_port(call.arguments) if call.name == NETWORK else None
        return asked is not None and rule.network.matches(*asked, strictly=strictly)
    quantifier = all if strictly else any
    if rule.web is not None:
        web = rule.web
        urls = _texts(call, _URL_ARGUMENTS)
        return bool(urls) and quantifier(web.matches(url, strictly=strictly) for url in urls)
    named = _texts(call, _PATH_ARGUMENTS)
    if not named and "path" in call.arguments:
        named = ["."]
    pattern = rule.path
    if pattern is None or not named:
        return False
    workspace = paths.workspace
    return quantifier(
        quantifier(pattern.matches(path, workspace) for path in _spellings(name, workspace))
        for name in named
    )


def _texts(call: ToolCall, names: Sequence[str]) -> list[str]:
    found: list[str] = []
    for name in names:
        value = call.arguments.get(name)
        if isinstance(value, str) and value:
            found.append(value)
        elif isinstance(value, list):
            found += [one for one in value if isinstance(one, str)]
    return found[:MAX_PATHS]


def _spellings(name: str, workspace: Path) -> set[str]:
    """A path as written and with its links followed, both absolute."""
    if "\0" in name:
        return {name}
    whole = os.path.normpath(Path(workspace, os.path.expanduser(name)))  # noqa: PTH111
    return {whole, os.path.realpath(whole)}
