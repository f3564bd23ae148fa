"""Attacks with a fixed form: the groups of ``patterns.yaml``.

A group is searched only near its words, in windows that hardly overlap, with bounded expressions.
So the time is proportional to the length of a text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache

from ahocorasick_rs import AhoCorasick

from .data_files import LazyPatterns, expression, load_yaml
from .text_use import TextUse

MAX_CHARS_BEFORE = 400
"""Characters before a word that may belong to an attack."""
MAX_CHARS_AFTER = 700
"""Characters after a word that may belong to an attack."""


@dataclass(frozen=True, slots=True)
class PatternGroup:
    """Expressions of one rule that are searched near one of the ``words``.

    ``uses`` holds the values of :class:`TextUse` it applies to; with ``prose`` code is skipped.
    """

    rule: str
    uses: frozenset[str]
    prose: bool
    words: AhoCorasick
    patterns: LazyPatterns


@dataclass(frozen=True, slots=True)
class PatternMatch:
    """A match of a rule from ``start`` to ``end``; ``words`` is the matched text."""

    rule: str
    start: int
    end: int
    words: str


@cache
def pattern_groups() -> tuple[PatternGroup, ...]:
    """Load the groups of ``patterns.yaml``."""
    data = load_yaml("patterns.yaml")
    return tuple(
        PatternGroup(
            group["rule"],
            frozenset(group.get("in", [use.value for use in TextUse])),
            "prose" in group,
            AhoCorasick(group["words"]),
            LazyPatterns(group["patterns"], data["names"]),
        )
        for group in data["groups"]
    )


def find_patterns(
    text: str, use: TextUse, installers: Collection[str] = ()
) -> Iterator[PatternMatch]:
    """Find matches in a text that starts with a line break.

    Commands that download only from ``installers`` are skipped.
    """
    lower, prose = _lower(text), without_code(text)
    for group in pattern_groups():
        if use.value in group.uses:
            yield from _search(group, prose if group.prose else text, lower, installers)
    yield from _foreign_secrets(text)
    plain = _plain_command(text)
    if use.is_followed and plain != text:
        yield from find_patterns(plain, TextUse.PROGRAM, installers)


def without_code(text: str) -> str:
    """The text with code replaced by spaces."""
    for name in ("code-block", "code-span"):
        text = expression(name).sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    return text


def _lower(text: str) -> str:
    """Lower case of the same length: only that of a dotted capital I is longer."""
    return text.replace("\u0130", "i").lower()


def _plain_command(text: str) -> str:
    """The text with continued lines joined and quotes within words removed."""
    joined = text.replace("\\\r\n", "   ").replace("\\\n", "  ")
    return expression("quoted").sub("", expression("separator").sub(" ", joined))


def _search(
    group: PatternGroup, text: str, lower: str, installers: Collection[str]
) -> Iterator[PatternMatch]:
    for begin, end in _windows(group, lower):
        for found in (match for p in group.patterns for match in p.finditer(text, begin, end)):
            if group.rule != "download-and-run" or not is_known_installer(found[0], installers):
                yield PatternMatch(group.rule, *found.span(), found[0])


def _windows(group: PatternGroup, lower: str) -> Iterator[tuple[int, int]]:
    """Ranges of the text around the words of a group."""
    searched = 0
    for _, at, end in group.words.find_matches_as_indexes(lower):
        if end > searched:
            searched = end + MAX_CHARS_AFTER
            yield (
                max(lower.rfind("\n", 0, at), at - MAX_CHARS_BEFORE, 0),
                min(len(lower), searched + MAX_CHARS_AFTER),
            )


def _foreign_secrets(text: str) -> Iterator[PatternMatch]:
    """Find URLs with a secret of another service; ``$MAPS_KEY`` belongs to maps.dev."""
    if "://" in text and ("$" in text or "{{" in text):
        for found in expression("variable").finditer(text):
            names = set(found["name"].lower().split("_")) - set(
                load_yaml("patterns.yaml")["generic"]
            )
            if names and not any(name in found["host"].lower() for name in names):
                yield PatternMatch("exfiltration", *found.span(), found[0])


def is_known_installer(command: str, installers: Collection[str]) -> bool:
    """Whether a command has URLs and all of them are known installers.

    A name with a dot that is neither a URL nor an output file counts as a URL without its scheme.
    """
    urls = list(expression("url").finditer(command))
    rest = expression("file").sub(" ", expression("url").sub(" ", command))
    if not urls or expression("host").search(rest):
        return False
    return all(_is_allowed(url, (*load_yaml("installers.yaml"), *installers)) for url in urls)


def _is_allowed(url: re.Match[str], installers: Collection[str]) -> bool:
    rest = url["rest"].rstrip(".")
    host = rest.partition("/")[0].lower()
    if url["scheme"].lower() != "https" or not re.fullmatch(r"[a-z0-9.-]+", host) or "/../" in rest:
        return False
    for installer in installers:
        name, slash, path = installer.partition("/")
        if host == name.lower() and (not slash or rest[len(host) + 1 :].startswith(path)):
            return True
    return False
