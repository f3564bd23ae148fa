"""Names of values: how strongly a name indicates that its value is secret."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import yaml

from .spans import Kind

MAX_NAME_CHARS = 80
"""Characters of the longest name that is found."""
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+|\d+")
_NUMBERED = re.compile(r"[_-]?\d{1,2}(?![A-Za-z0-9_])|(?![A-Za-z0-9_])")
_BEFORE = re.compile(r"([A-Za-z][A-Za-z-]{1,20}) ?\Z")


class Strength(enum.IntEnum):
    """How likely the value of a name is secret."""

    NONE = 0
    """Public, such as a primary key."""
    WEAK = 1
    """``key`` alone."""
    FAIR = 2
    """``token`` alone, and ``KEY`` in capitals."""
    STRONG = 3
    """``api_key``, ``SECRET``, ``db.password``."""


@dataclass(frozen=True, slots=True)
class SecretName:
    """A name from ``start`` to ``end``; ``word`` is its ending, such as ``key``."""

    start: int
    end: int
    word: str
    kind: Kind
    strength: Strength
    qualified: bool


@dataclass(frozen=True, slots=True)
class _NameLists:
    endings: dict[str, Kind]
    words: frozenset[str]
    public: dict[str, frozenset[str]]
    qualifiers: frozenset[str]


@cache
def _lists() -> _NameLists:
    data = yaml.load(
        (files(__package__) / "secret_names.yaml").read_text("utf-8"), Loader=yaml.CSafeLoader
    )
    keys, tokens, secrets = (
        frozenset(data[f"public_{what}"].split()) for what in ("keys", "tokens", "secrets")
    )
    endings = {word: kind for kind, words in data["endings"].items() for word in words}
    public = dict.fromkeys(endings, secrets) | {"key": keys, "token": tokens}
    words, qualifiers = (frozenset(data[what].split()) for what in ("words", "qualifiers"))
    return _NameLists(endings, words, public, qualifiers)


def find_name_endings(lower: str) -> Iterator[tuple[int, int, str]]:
    """Find endings of names in a text in lower case: start, end and the ending."""
    for word in _lists().endings:
        at = lower.find(word)
        while at >= 0:
            end = _NUMBERED.match(lower, at + len(word))
            if end is not None:
                yield at, end.end(), word
            at = lower.find(word, at + len(word))


def name_at(text: str, start: int, end: int, word: str) -> SecretName | None:
    """The name whose ending ``word`` begins at ``start``; None if it is an ordinary word."""
    begin = start
    while begin > max(0, start - MAX_NAME_CHARS) and _in_name(text[begin - 1]):
        begin -= 1
    while begin < start and text[begin] in "-.$":
        begin += 1
    name = text[begin : start + len(word)]
    lists = _lists()
    last = re.split(r"[._$-]", name)[-1]
    if last.lower() in lists.words and not (name != last and last.lower() == "pass"):
        return None
    parts = [part.lower() for part in _PARTS.findall(name)]
    before = (
        parts[:-1] if parts and parts[-1] == word else [*parts[:-1], *_glued_prefix(parts, word)]
    )
    if not before and (spaced := _BEFORE.search(text, max(0, begin - 22), begin)):
        before = [part.lower() for part in _PARTS.findall(spaced[1])] if begin else []
        public = lists.public[word] if word in ("key", "token") else frozenset[str]()
        if not before or before[-1] not in lists.qualifiers | public:
            before = []
    if word == "pass" and not before:
        return None
    kind = lists.endings[word]
    strength = _strength(word, before, name)
    return SecretName(begin, end, word, kind, strength, bool(before) and " " not in name)


def _in_name(char: str) -> bool:
    return char.isalnum() or char in "_-.$"


def _glued_prefix(parts: list[str], word: str) -> list[str]:
    """The part glued to the ending: ``api`` in ``apikey``."""
    return [parts[-1][: -len(word)]] if parts and parts[-1].endswith(word) else []


def _strength(word: str, before: list[str], name: str) -> Strength:
    lists = _lists()
    if before and before[-1] in lists.public[word]:
        return Strength.NONE
    if before:
        return Strength.STRONG
    if word == "key":
        return Strength.FAIR if name.isupper() else Strength.WEAK
    return Strength.FAIR if word == "token" else Strength.STRONG
