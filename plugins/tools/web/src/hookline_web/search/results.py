"""What a search brings, and what every service must be able to do."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

MAX_TITLE = 200
MAX_SNIPPET = 500
MAX_URL = 2_000
"""Characters. A longer title or snippet is cut; a result with a longer URL is left out."""
MAX_QUERY = 400
MAX_WORDS = 50
"""Brave's limits of a query (its API reference, parameter ``q``); Tavily's is 400 as well."""

_TAG = re.compile(r"<[^<>]{0,200}>")


@dataclass(frozen=True, slots=True)
class Found:
    """One result. The texts hold no markup."""

    title: str
    url: str
    snippet: str


class Backend(Protocol):
    """A service that searches. ``name`` is for people, such as ``Brave``."""

    name: str

    async def search(self, query: str, limit: int) -> list[Found]:
        """At most ``limit`` results, best first. Raises ``ToolError`` with a sentence."""


def results(rows: Iterable[Any], snippet: str, limit: int) -> list[Found]:
    """The first `limit` rows that are results.

    rows: what a service sent: objects with ``title``, ``url`` and a text under the key `snippet`.
    What is none, has no http URL, or repeats one is left out.
    """
    found: dict[str, Found] = {}
    for title, url, text in _texts(rows, snippet):
        if re.match(r"https?://[^\s/]", url) and len(url) <= MAX_URL:
            clean = Found(_cut(title, MAX_TITLE) or url, url, _cut(text, MAX_SNIPPET))
            found.setdefault(url, clean)
        if len(found) == limit:
            break
    return list(found.values())


def _texts(rows: Iterable[Any], snippet: str) -> Iterator[tuple[str, str, str]]:
    for row in rows:
        if isinstance(row, dict):
            texts = [row.get(key) for key in ("title", "url", snippet)]
            title, url, text = (one if isinstance(one, str) else "" for one in texts)
            yield title, url.strip(), text


def _cut(text: str, limit: int) -> str:
    """One line of plain text, at most `limit` characters."""
    plain = html.unescape(_TAG.sub("", text[: limit * 20]))
    line = " ".join(plain.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"
