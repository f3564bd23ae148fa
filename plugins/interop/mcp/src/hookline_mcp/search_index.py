"""Full-text search over tools: SQLite's FTS5 with the Porter stemmer.

Each word of the query is searched together with its alternatives of ``synonyms.yaml``; only the
best matches of a word count.
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
"""Weights of a match in the names of tool and server, the description, and the parameters."""
SYNONYM_WEIGHT, IMPLIED_WEIGHT = 0.85, 0.8
"""Weights of a synonym, and of a word that tools use for it; the word itself counts 1."""
MAX_RESULTS = 20
"""Tools returned by one search."""
MAX_QUERY_WORDS = 32
"""Words of a query that are searched."""
SECOND_MATCH_WEIGHT = 0.3
"""Weight of the second-best match of a query word."""
SCORE_EXPONENT = 0.8
"""Exponent applied to scores, so that one rare word does not decide alone."""
MAX_PHRASE_GAP = 2
"""Distance in words between the two words of a phrase, as in `pass it on`."""
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z](?!\b))")
_CHANNEL = re.compile(r"#(?=[A-Za-z])")


@dataclass(frozen=True, slots=True)
class ToolDocument:
    """The searchable texts of a tool; ``name`` is its full name."""

    name: str
    server: str
    tool: str
    description: str
    parameters: Mapping[str, Any]


class ToolIndex:
    """A search index in memory."""

    def __init__(self, documents: Iterable[ToolDocument]) -> None:
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
        for alternatives in _query_terms(query):
            # Two words of a query may share an alternative: `Friday` and `noon` both mean `event`.
            fresh = {one: weight for one, weight in alternatives.items() if one not in counted}
            counted |= fresh.keys()
            found: dict[str, list[float]] = defaultdict(list)
            for phrase, weight in fresh.items():
                for name, score in self._scores(phrase).items():
                    found[name].append(weight * score)
            for name, each in found.items():
                best = sorted(each, reverse=True)
                scores[name] += best[0] + SECOND_MATCH_WEIGHT * sum(best[1:2])
        ranked = sorted(scores, key=lambda name: (-scores[name], name))
        return ranked[: max(1, min(limit, MAX_RESULTS))]

    def _scores(self, phrase: str) -> dict[str, float]:
        rows = self._known.execute(
            "SELECT full, -bm25(tools, 0, ?, ?, ?) FROM tools WHERE tools MATCH ?",
            (*WEIGHTS, f'"{phrase}"'),
        )
        return {name: max(score, 0.0) ** SCORE_EXPONENT for name, score in rows}

    def close(self) -> None:
        """Free the memory."""
        self._known.close()


def _row(one: ToolDocument) -> tuple[str, str, str, str]:
    name = " ".join(words(f"{one.server} {one.tool}"))
    return (
        one.name,
        name,
        " ".join(words(one.description)),
        " ".join(_parameter_words(one.parameters)),
    )


def embedding_text(server: str, tool: str, description: str) -> str:
    """Return the text of a tool for semantic search."""
    return f"{server}: {' '.join(words(tool))}. {description}"


def words(text: str) -> list[str]:
    """Split a text into words, also within ``camelCase`` and ``snake_case`` names."""
    return [part for word in _WORD.findall(text) for part in _HUMP.split(word)]


def _parameter_words(schema: Any, depth: int = 0) -> Iterator[str]:
    """Words in the names, descriptions and allowed values of parameters."""
    if not isinstance(schema, Mapping) or depth > 6:
        return
    properties = schema.get("properties")
    for name, part in properties.items() if isinstance(properties, Mapping) else ():
        yield from words(str(name))
        yield from _parameter_words(part, depth + 1)
    if isinstance(schema.get("description"), str):
        yield from words(schema["description"])
    values = schema.get("enum")
    for value in values if isinstance(values, list | tuple) else ():
        if isinstance(value, str):
            yield from words(value)
    yield from _parameter_words(schema.get("items"), depth + 1)


def _query_terms(query: str) -> Iterator[dict[str, float]]:
    """For each word or word pair of a query: the alternatives to search, with their weights."""
    synonyms = _load_synonyms()
    text = _CHANNEL.sub("channel ", query)
    found = [word.casefold().replace("’", "'") for word in words(text)][:MAX_QUERY_WORDS]
    content = [word for word in dict.fromkeys(found) if word not in synonyms.stop_words] or found
    for word in content:
        plain = word.removesuffix("'s")
        others = synonyms.alternatives(plain)
        yield {**others, plain.replace("'", " "): 1.0}
    for place, first in enumerate(found):
        for second in found[place + 1 : place + 1 + MAX_PHRASE_GAP]:
            if others := synonyms.alternatives(f"{first}-{second}"):
                yield others
    for first in found:
        if first in synonyms.stop_words and (others := synonyms.alternatives(first)):
            yield others


class _Synonyms:
    def __init__(self, data: Mapping[str, str]) -> None:
        self.stop_words = frozenset(data["stop_words"].split())
        self._alternatives: dict[str, dict[str, float]] = defaultdict(dict)
        for line in _lines(data["implied"]):
            left, _, right = line.partition(" > ")
            self._add(left.split(), right.split(), IMPLIED_WEIGHT)
        for line in _lines(data["synonyms"]):
            self._add(line.split(), line.split(), SYNONYM_WEIGHT)

    def _add(self, words: list[str], alternatives: list[str], weight: float) -> None:
        for word in words:
            for other in alternatives:
                if other != word:
                    self._alternatives[word][other.replace("-", " ")] = weight

    def alternatives(self, word: str) -> dict[str, float]:
        """Return other words for ``word`` or its singular, with their weights."""
        for form in (word, word.removesuffix("s"), word.removesuffix("es"), word.removesuffix("d")):
            if form in self._alternatives:
                return self._alternatives[form]
        return {}


def _lines(text: str) -> Iterator[str]:
    return (line for line in text.splitlines() if line.strip() and not line.startswith("#"))


@cache
def _load_synonyms() -> _Synonyms:
    import yaml

    text = files(__package__).joinpath("synonyms.yaml").read_text("utf-8")
    return _Synonyms(yaml.safe_load(text))
