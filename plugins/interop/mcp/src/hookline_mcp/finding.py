"""Search over tools that are not offered directly: SQLite's FTS5 with the Porter stemmer.

A word of the query counts once, by whichever fits a tool best: itself, or a word that
``words.yaml`` says tools use for it.
"""

from __future__ import annotations

import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

WEIGHTS = (4.0, 2.0, 1.0)
"""Of a tool's name (with its server's), description and parameters (INTEROP, MCP client)."""
ALIKE, MEANT = 0.85, 0.8
"""What a word counts that means the same, and one that a tool uses for it, beside the word."""
MOST = 20
"""Tools that one search returns at most."""
MOST_WORDS = 32
"""Words of a query that are looked at."""
SECOND = 0.3
"""How much counts what fits a word second best."""
EVEN = 0.8
"""The power to which a fit is raised, so that one rare word does not decide alone."""
APART = 2
"""How far apart the words of a phrase may be: `pass it on`."""
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z](?!\b))")
_CHANNEL = re.compile(r"#(?=[A-Za-z])")


@dataclass(frozen=True, slots=True)
class Document:
    """A tool as it is searched: ``name`` is the full name."""

    name: str
    server: str
    tool: str
    description: str
    parameters: Mapping[str, Any]


class Index:
    """The tools of some servers, in memory."""

    def __init__(self, documents: Iterable[Document]) -> None:
        self._known = sqlite3.connect(":memory:", check_same_thread=False)
        self._known.execute(
            "CREATE VIRTUAL TABLE tools USING fts5("
            "full UNINDEXED, name, description, parameters, tokenize='porter unicode61')"
        )
        self._known.executemany(
            "INSERT INTO tools VALUES (?, ?, ?, ?)", [_row(one) for one in documents]
        )

    def find(self, query: str, limit: int) -> list[str]:
        """Return the full names of the tools that fit ``query`` best, best first."""
        scores: dict[str, float] = defaultdict(float)
        counted: set[str] = set()
        for alternatives in _wanted(query):
            # Several words of a query may lead to one: `Friday` and `noon` to `event`.
            fresh = {one: weight for one, weight in alternatives.items() if one not in counted}
            counted |= fresh.keys()
            found: dict[str, list[float]] = defaultdict(list)
            for phrase, weight in fresh.items():
                for name, score in self._matches(phrase).items():
                    found[name].append(weight * score)
            for name, each in found.items():
                best = sorted(each, reverse=True)
                scores[name] += best[0] + SECOND * sum(best[1:2])
        ranked = sorted(scores, key=lambda name: (-scores[name], name))
        return ranked[: max(1, min(limit, MOST))]

    def _matches(self, phrase: str) -> dict[str, float]:
        rows = self._known.execute(
            "SELECT full, -bm25(tools, 0, ?, ?, ?) FROM tools WHERE tools MATCH ?",
            (*WEIGHTS, f'"{phrase}"'),
        )
        return {name: max(score, 0.0) ** EVEN for name, score in rows}

    def close(self) -> None:
        """Free the memory."""
        self._known.close()


def _row(one: Document) -> tuple[str, str, str, str]:
    name = " ".join(words(f"{one.server} {one.tool}"))
    return one.name, name, " ".join(words(one.description)), " ".join(_said(one.parameters))


def meaning(server: str, tool: str, description: str) -> str:
    """What a comparison by meaning looks at."""
    return f"{server}: {' '.join(words(tool))}. {description}"


def words(text: str) -> list[str]:
    """Return the words of a text, those in ``camelCase`` and ``snake_case`` names too."""
    return [part for word in _WORD.findall(text) for part in _HUMP.split(word)]


def _said(schema: Any, depth: int = 0) -> Iterator[str]:
    """Names and descriptions of parameters, and the values that they take."""
    if not isinstance(schema, Mapping) or depth > 6:
        return
    properties = schema.get("properties")
    for name, part in properties.items() if isinstance(properties, Mapping) else ():
        yield from words(str(name))
        yield from _said(part, depth + 1)
    if isinstance(schema.get("description"), str):
        yield from words(schema["description"])
    values = schema.get("enum")
    for value in values if isinstance(values, list | tuple) else ():
        if isinstance(value, str):
            yield from words(value)
    yield from _said(schema.get("items"), depth + 1)


def _wanted(query: str) -> Iterator[dict[str, float]]:
    """For each word or pair of words of a query, what it may be called, with what that counts."""
    lexicon = _lexicon()
    text = _CHANNEL.sub("channel ", query)
    found = [word.casefold().replace("’", "'") for word in words(text)][:MOST_WORDS]
    spoken = [word for word in dict.fromkeys(found) if word not in lexicon.common] or found
    for word in spoken:
        plain = word.removesuffix("'s")
        others = lexicon.others(plain)
        yield {**others, plain.replace("'", " "): 1.0}
    for place, first in enumerate(found):
        for second in found[place + 1 : place + 1 + APART]:
            if others := lexicon.others(f"{first}-{second}"):
                yield others
    for first in found:
        if first in lexicon.common and (others := lexicon.others(first)):
            yield others


class _Lexicon:
    def __init__(self, data: Mapping[str, str]) -> None:
        self.common = frozenset(data["common"].split())
        self._others: dict[str, dict[str, float]] = defaultdict(dict)
        for line in _lines(data["meant"]):
            left, _, right = line.partition(" > ")
            self._add(left.split(), right.split(), MEANT)
        for line in _lines(data["alike"]):
            self._add(line.split(), line.split(), ALIKE)

    def _add(self, spoken: list[str], meant: list[str], weight: float) -> None:
        for word in spoken:
            for other in meant:
                if other != word:
                    self._others[word][other.replace("-", " ")] = weight

    def others(self, word: str) -> dict[str, float]:
        """What else a word may be called; its plural is looked up too."""
        for form in (word, word.removesuffix("s"), word.removesuffix("es"), word.removesuffix("d")):
            if form in self._others:
                return self._others[form]
        return {}


def _lines(text: str) -> Iterator[str]:
    return (line for line in text.splitlines() if line.strip() and not line.startswith("#"))


@cache
def _lexicon() -> _Lexicon:
    import yaml

    text = files(__package__).joinpath("words.yaml").read_text("utf-8")
    return _Lexicon(yaml.safe_load(text))
