"""Search over tools that are not offered directly: SQLite's FTS5 with the Porter stemmer."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

WEIGHTS = (4.0, 2.0, 1.0)
"""Of a tool's name (with its server's), description and parameters (INTEROP, MCP client)."""
MOST = 20
"""Tools that one search returns at most."""
_WORD = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


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
        wanted = _wanted(query)
        if not wanted:
            return []
        rows = self._known.execute(
            "SELECT full FROM tools WHERE tools MATCH ? "
            "ORDER BY bm25(tools, 0, ?, ?, ?), full LIMIT ?",
            (wanted, *WEIGHTS, max(1, min(limit, MOST))),
        )
        return [row[0] for row in rows]

    def close(self) -> None:
        """Free the memory."""
        self._known.close()


def _row(one: Document) -> tuple[str, str, str, str]:
    name = " ".join(words(f"{one.server} {one.tool}"))
    return one.name, name, " ".join(words(one.description)), " ".join(_said(one.parameters))


def words(text: str) -> list[str]:
    """Return the words of a text, those in ``camelCase`` and ``snake_case`` names too."""
    return [part for word in _WORD.findall(text) for part in _HUMP.split(word)]


def _said(schema: Any, depth: int = 0) -> Iterator[str]:
    """Names and descriptions of parameters, and the values that they take."""
    if not isinstance(schema, dict) or depth > 6:
        return
    for name, part in (schema.get("properties") or {}).items():
        yield from words(str(name))
        yield from _said(part, depth + 1)
    if isinstance(schema.get("description"), str):
        yield from words(schema["description"])
    for value in schema.get("enum") or ():
        if isinstance(value, str):
            yield from words(value)
    yield from _said(schema.get("items"), depth + 1)


def _wanted(query: str) -> str:
    """Any of the words, or of those that mean much the same, as an FTS5 expression."""
    known, common = _synonyms(), _common()
    found = list(dict.fromkeys(word.casefold() for word in words(query)[:64]))
    asked = [word for word in found if word not in common] or found
    meant = dict.fromkeys(one for word in asked for one in (word, *known.get(word, ())))
    return " OR ".join(f'"{word}"' for word in meant)


@cache
def _data() -> Mapping[str, Any]:
    import yaml

    text = files(__package__).joinpath("words.yaml").read_text("utf-8")
    found: Mapping[str, Any] = yaml.safe_load(text)
    return found


@cache
def _common() -> frozenset[str]:
    return frozenset(_data()["common"].split())


@cache
def _synonyms() -> Mapping[str, tuple[str, ...]]:
    groups = [line.split() for line in _data()["alike"].splitlines() if line.strip()]
    found: dict[str, list[str]] = {}
    for group in groups:
        for word in group:
            found.setdefault(word, []).extend(one for one in group if one != word)
    return {word: tuple(others) for word, others in found.items()}
