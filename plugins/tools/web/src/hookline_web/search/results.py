"""A search result, and the protocol of search services."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

MAX_TITLE_CHARS = 200
MAX_SNIPPET_CHARS = 500
MAX_URL_CHARS = 2_000
"""A longer title or snippet is cut; a result with a longer URL is left out."""
MAX_QUERY_CHARS = 400
MAX_QUERY_WORDS = 50
"""Brave's limits of a query (its API reference, parameter ``q``); Tavily's is 400 as well."""

_TAG = re.compile(r"<[^<>]{0,200}>")


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One search result. The texts have no markup."""

    title: str
    url: str
    snippet: str


class SearchService(Protocol):
    """A service that searches. ``name`` is for people, such as ``Brave``."""

    name: str

    async def search(self, query: str, limit: int) -> list[SearchHit]:
        """At most ``limit`` results, best first. Raises ``ToolError``."""


def search_hits(rows: Iterable[Any], snippet: str, limit: int) -> list[SearchHit]:
    """The first `limit` valid results.

    A row has ``title``, ``url`` and a text under the key `snippet`. Rows that are not objects, have
    no http URL, or repeat a URL are left out.
    """
    found: dict[str, SearchHit] = {}
    for title, url, text in _texts(rows, snippet):
        if re.match(r"https?://[^\s/]", url) and len(url) <= MAX_URL_CHARS:
            clean = SearchHit(
                _cut(title, MAX_TITLE_CHARS) or url, url, _cut(text, MAX_SNIPPET_CHARS)
            )
            found.setdefault(url, clean)
        if len(found) == limit:
            break
    return list(found.values())


def _texts(rows: Iterable[Any], snippet: str) -> Iterator[tuple[str, str, str]]:
    for row in rows:
        if isinstance(row, dict):
            texts = [row.get(key) for key in ("title", "url", snippet)]
            title, url, text = (value if isinstance(value, str) else "" for value in texts)
            yield title, url.strip(), text


def _cut(text: str, limit: int) -> str:
    """One line of plain text, at most `limit` characters."""
    plain = html.unescape(_TAG.sub("", text[: limit * 20]))
    line = " ".join(plain.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"
