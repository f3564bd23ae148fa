"""Whether allow rules cover a command: every program that it starts, with every word."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import replace
from glob import iglob
from itertools import islice

from hookline_hookspecs import Paths

from .command_patterns import PathClass, program_names
from .commands import UNKNOWN, ParsedCommand, SimpleCommand
from .commands.parser import has_script
from .commands.wrappers import adds_nothing
from .content import matches_digest
from .places import HARMLESS_DEVICES, Places, is_readable_system
from .rules import PACKAGED, Rule

_INVISIBLE = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp", "Zs"})
_PLAIN_TEXT = re.compile(r"[\x20-\x7e\n\t]*")
_VALUE_OF_OPTION = re.compile(r"--?[\w-]+=(?P<value>.+)|-\w(?P<path>[/~.].*)", re.S)
_EXPRESSION_OPTION = re.compile(r"-[A-Za-z]*[ef]|--(?:re|fi|ex|fr)")
"""Options that give the expression, so that the first word is a file."""
_GLOB = re.compile(r"[*?\[]")
MAX_GLOB_MATCHES = 200
_LOCAL_NAME = re.compile(r"[a-z_][a-z0-9_]*")


def part_rules(
    parsed: ParsedCommand, rules: Sequence[Rule], places: Places, paths: Paths
) -> list[tuple[SimpleCommand, Rule | None]]:
    """Each part that needs a rule, with the allow rule that covers it, or None.

    ``rules`` are in the order in which they are tried.
    """
    found: list[tuple[SimpleCommand, Rule | None]] = []
    outer: tuple[tuple[str, ...], Rule] | None = None
    for command, there in with_folders(parsed, places):
        if outer is not None and command.wrappers[: len(outer[0])] == outer[0]:
            found.append((command, outer[1]))  # the rule names the wrapper with all its words
            continue
        if command.program in parsed.functions and _is_safe(command, None, there, paths):
            continue
        if not command.words and _is_harmless_setting(command, there, paths):
            continue
        if adds_nothing(command):
            continue
        rule = _covering(command, rules, there, paths)
        found.append((command, rule))
        by_person = rule is not None and rule.where != PACKAGED
        outer = ((*command.wrappers, command.program), rule) if rule and by_person else None
    return found


def with_folders(parsed: ParsedCommand, places: Places) -> Iterable[tuple[SimpleCommand, Places]]:
    """The commands, each with the places as seen from its folder: ``cd`` changes it."""
    for command in parsed.commands:
        yield command, places
        if command.program in ("cd", "pushd", "popd") and command.words:
            operands = [one for one in command.arguments if not one.startswith("-")]
            known = command.program != "popd" and len(operands) == 1
            places = replace(places, folder=places.after_cd(operands[0]) if known else None)


def _covering(
    command: SimpleCommand, rules: Sequence[Rule], places: Places, paths: Paths
) -> Rule | None:
    for rule in rules:
        if rule.exact_command is not None or rule.is_sandbox_scope:
            continue
        pattern = rule.command
        if pattern is None:
            return rule
        if command.in_background and rule.where == PACKAGED:
            continue  # they may be started without end
        if (
            pattern.covers(command, places)
            and not any(one.command and one.command.matches(command, places) for one in rule.unless)
            and _is_safe(command, rule, places, paths)
            and (not rule.digest or matches_digest(command, places, rule.digest))
        ):
            return rule
    return None


def _is_harmless_setting(command: SimpleCommand, places: Places, paths: Paths) -> bool:
    """True for assignments and redirects alone that change nothing for other programs."""
    names = program_names("harmless_variables")
    named = all(name in names or _LOCAL_NAME.fullmatch(name) for name in command.assignments)
    return named and _redirects_are_safe(command, places, paths)


def _is_safe(command: SimpleCommand, rule: Rule | None, places: Places, paths: Paths) -> bool:
    """True if no word, redirect or variable leads where the rule's author may not have thought of.

    That is a file that may not be used, a word that only the shell knows, a character that cannot
    be seen, or a variable that makes a program run something else.
    """
    if not set(command.assignments) <= program_names("harmless_variables"):
        return False
    if not all(_is_visible(word.text) for word in command.words):
        return False
    evaluates = rule is None or command.program in program_names("evaluates_numbers")
    if evaluates and any(map(has_script, command.arguments)):
        return False
    if not _redirects_are_safe(command, places, paths):
        return False
    if command.program in program_names("no_paths"):
        return True
    if rule is None:
        return True
    if any(not word.is_known for word in command.words):
        return False
    if _writes_control(command, places):
        return False
    named, reads = frozenset[str](), rule.reads
    if rule.command is not None:
        named = rule.command.named_operands(command)
        classes = [one for one in rule.command.operands if isinstance(one, PathClass)]
        if any("home" in one.names for one in classes):
            named |= {word for word in command.arguments if places.kinds(word) & {"home"}}
    return all(
        _is_usable(word, places, paths, reads=reads, named=word in named)
        for word in _paths_of(command)
    )


def _paths_of(command: SimpleCommand) -> Iterable[str]:
    """The words that may be paths: those that are no options, and the values of options."""
    words = command.arguments
    if command.program in program_names("expression_first") and not any(
        map(_EXPRESSION_OPTION.match, words)
    ):
        first = next((n for n, word in enumerate(words) if not word.startswith("-")), len(words))
        words = words[:first] + words[first + 1 :]
    for word in words:
        if not word.startswith("-") or word == "-":
            yield word
        elif found := _VALUE_OF_OPTION.fullmatch(word):
            yield found["value"] or found["path"]


def _writes_control(command: SimpleCommand, places: Places) -> bool:
    """True if an option, such as ``--output=…``, names a file that programs or agents follow."""
    values = (_VALUE_OF_OPTION.fullmatch(word) for word in command.arguments)
    named = [found["value"] or found["path"] for found in values if found]
    return any(places.kinds(one) & {"git", "control"} for one in named)


def _is_usable(word: str, places: Places, paths: Paths, *, reads: bool, named: bool) -> bool:
    """True if a word is no path, or one that may be used."""
    if word in ("", "-") or "\n" in word:
        return True
    if "://" in word:
        return not word.lower().startswith("file:")
    joined, path = places.joined(word), places.absolute(word)
    if joined is None or path is None:
        return False
    if path in HARMLESS_DEVICES or (reads and ".." not in word and is_readable_system(path)):
        return True
    if named:
        return paths.credential(path) is None
    if _refusal(joined, paths) is not None:
        return False
    return not _GLOB.search(word) or _matches_are_usable(joined, paths)


def _matches_are_usable(pattern: str, paths: Paths) -> bool:
    """True if every file that a pattern of the shell names may be used."""
    try:
        found = list(islice(iglob(pattern), MAX_GLOB_MATCHES + 1))  # noqa: PTH207 - as the shell
    except (OSError, ValueError, re.error):
        return False
    return len(found) <= MAX_GLOB_MATCHES and all(_refusal(one, paths) is None for one in found)


def _refusal(path: str, paths: Paths) -> str | None:
    try:
        return paths.check_path(path)
    except OSError as error:
        return f"it cannot be looked at ({error.strerror})"


def _redirects_are_safe(command: SimpleCommand, places: Places, paths: Paths) -> bool:
    for redirect in command.redirects:
        text = redirect.target.text
        joined, path = places.joined(text), places.absolute(text)
        if joined is None or path is None or _GLOB.search(text):
            return False
        if path in HARMLESS_DEVICES:
            continue
        kinds = places.kinds(text)
        if redirect.writes and kinds & {"git", "control"}:
            return False
        if _refusal(joined, paths) is not None:
            return False
    return True


def _is_visible(text: str) -> bool:
    """False if a character shows nothing, or changes how others are shown."""
    if _PLAIN_TEXT.fullmatch(text):
        return True
    return not any(
        unicodedata.category(one) in _INVISIBLE and one not in (" ", "\n", "\t", UNKNOWN)
        for one in text
    )
