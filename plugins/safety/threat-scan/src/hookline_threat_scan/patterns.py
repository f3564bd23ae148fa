"""Attacks that are told by their shape: the groups of ``patterns.yaml``.

A group is searched only near its words, in windows that hardly overlap, with expressions whose
repetitions are bounded: so the time grows with the length of a text and no faster.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache

from ahocorasick_rs import AhoCorasick

from .audience import Audience
from .data import Patterns, expression, load

BEFORE, AHEAD = 400, 700
"""Characters in front of a word and behind it that an attack may take."""


@dataclass(frozen=True, slots=True)
class Group:
    """Expressions of one rule, looked for near one of the ``words``."""

    rule: str
    audiences: frozenset[str]
    prose: bool
    words: AhoCorasick
    patterns: Patterns


@dataclass(frozen=True, slots=True)
class Shape:
    """What was found of a rule, from where to where."""

    rule: str
    start: int
    end: int
    words: str


@cache
def groups() -> tuple[Group, ...]:
    """The groups of ``patterns.yaml``."""
    data = load("patterns.yaml")
    return tuple(
        Group(
            group["rule"],
            frozenset(group.get("in", [one.value for one in Audience])),
            "prose" in group,
            AhoCorasick(group["words"]),
            Patterns(group["patterns"], data["names"]),
        )
        for group in data["groups"]
    )


def find_shapes(text: str, audience: Audience, installers: Collection[str] = ()) -> Iterator[Shape]:
    """What the groups for an audience find in a text that begins with a line break.

    A step that only uses ``installers`` is left.
    """
    lower, prose = _lower(text), without_code(text)
    for group in groups():
        if audience.value in group.audiences:
            yield from _search(group, prose if group.prose else text, lower, installers)
    yield from _foreign_secrets(text)
    plain = _plain_command(text)
    if audience.is_followed and plain != text:
        yield from find_shapes(plain, Audience.PROGRAM, installers)


def without_code(text: str) -> str:
    """The text with blanks in the place of code."""
    for name in ("code-block", "code-span"):
        text = expression(name).sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    return text


def _lower(text: str) -> str:
    """Small letters, one for each character: only a dotted capital I has a longer one."""
    return text.replace("\u0130", "i").lower()


def _plain_command(text: str) -> str:
    """Commands without continued lines and the marks that part their words."""
    joined = text.replace("\\\r\n", "   ").replace("\\\n", "  ")
    return expression("quoted").sub("", expression("separator").sub(" ", joined))


def _search(group: Group, text: str, lower: str, installers: Collection[str]) -> Iterator[Shape]:
    for begin, end in _windows(group, lower):
        for found in (one for p in group.patterns for one in p.finditer(text, begin, end)):
            if group.rule != "download-and-run" or not is_known(found[0], installers):
                yield Shape(group.rule, *found.span(), found[0])


def _windows(group: Group, lower: str) -> Iterator[tuple[int, int]]:
    """Parts of the text around the words; they overlap by less than they hold."""
    searched = 0
    for _, at, end in group.words.find_matches_as_indexes(lower):
        if end > searched:
            searched = end + AHEAD
            yield max(lower.rfind("\n", 0, at), at - BEFORE, 0), min(len(lower), searched + AHEAD)


def _foreign_secrets(text: str) -> Iterator[Shape]:
    """Addresses with a secret that is not their host's, as ``$MAPS_KEY`` would be for maps.dev."""
    if "://" in text and ("$" in text or "{{" in text):
        for found in expression("variable").finditer(text):
            names = set(found["name"].lower().split("_")) - set(load("patterns.yaml")["generic"])
            if names and not any(name in found["host"].lower() for name in names):
                yield Shape("exfiltration", *found.span(), found[0])


def is_known(command: str, installers: Collection[str]) -> bool:
    """True if a command has addresses, and all are those of installers that are known.

    A name with a dot that is neither an address nor the file that was written is one without its
    scheme.
    """
    urls = list(expression("url").finditer(command))
    rest = expression("file").sub(" ", expression("url").sub(" ", command))
    if not urls or expression("host").search(rest):
        return False
    return all(_allowed(url, (*load("installers.yaml"), *installers)) for url in urls)


def _allowed(url: re.Match[str], installers: Collection[str]) -> bool:
    rest = url["rest"].rstrip(".")
    host = rest.partition("/")[0].lower()
    if url["scheme"].lower() != "https" or not re.fullmatch(r"[a-z0-9.-]+", host) or "/../" in rest:
        return False
    for installer in installers:
        name, slash, path = installer.partition("/")
        if host == name.lower() and (not slash or rest[len(host) + 1 :].startswith(path)):
            return True
    return False
