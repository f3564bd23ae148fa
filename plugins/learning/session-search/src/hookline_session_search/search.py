"""Finds the best matching messages, and renders them for a model."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from hookline_hookspecs import Origin, SemanticIndex, Storage, fuse
from hookline_hookspecs.storage import Row

from .index import MAX_BATCHES_PER_SEARCH, MessageIndex, chat_number
from .snippet import shortened, snippet
from .tokens import SearchQuery

CORPUS = "sessions"
"""The name of the corpus of messages in semantic search."""
MIN_SIMILARITY = 0.6
"""Similarity from which a message is found by its meaning."""
NEIGHBOUR_CHARS = 200
"""Characters shown of a message before or after a hit."""
AFTER_LAST = 2**62
"""Higher than the number of any message."""
MAX_ANSWER_CHARS = 16_000
"""Characters of an answer."""


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A search.

    ``chat`` is channel and chat id, None for all chats; ``since`` is Unix time in seconds. Messages
    of the turn ``skip_turn``, which has ``own`` messages, are not returned.
    """

    query: SearchQuery
    text: str
    chat: tuple[str, str] | None
    since: float = 0.0
    limit: int = 5
    skip_turn: str = ""
    own: int = 0


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The messages, best first; ``complete`` is false while older ones are not indexed yet."""

    rows: Sequence[Row]
    complete: bool


async def search(
    storage: Storage,
    index: MessageIndex,
    request: SearchRequest,
    semantic: SemanticIndex | None = None,
) -> SearchResult:
    """Return the best matches by BM25, newer ones first among equals; with ``semantic``, fused with
    the messages nearest in meaning."""
    rows = await _rows(storage, request)
    if rows[0]["behind"] or rows[0]["older"]:
        await index.catch_up_with_new()
        await index.catch_up(MAX_BATCHES_PER_SEARCH)
        rows = await _rows(storage, request)
    by_words = [row for row in rows if row["text"] and row["turn_id"] != request.skip_turn]
    hits = by_words if semantic is None else await _fused(storage, by_words, request, semantic)
    return SearchResult(hits[: request.limit], not rows[0]["older"])


async def _fused(
    storage: Storage, hits: Sequence[Row], request: SearchRequest, semantic: SemanticIndex
) -> Sequence[Row]:
    """Return the hits fused with the messages nearest in meaning."""
    scope = None if request.chat is None else "\n".join(request.chat)
    most = request.limit + request.own
    near = await semantic.nearest(CORPUS, request.text, scope=scope, limit=most)
    alike = [key for key, one in near.items() if one >= MIN_SIMILARITY]
    if not alike:
        return hits
    places = [(session, int(seq)) for session, _, seq in (key.rpartition("/") for key in alike)]
    rows = await storage.fetch(
        "placed",
        places=json.dumps(places),
        since=request.since,
        channel=request.chat and request.chat[0],
        chat_id=request.chat and request.chat[1],
    )
    by_key = {_key(row): row for row in rows if row["turn_id"] != request.skip_turn}
    similar = [key for key in alike if key in by_key]
    by_key |= {_key(row): row for row in hits}
    return [by_key[key] for key in fuse(map(_key, hits), similar)]


def _key(row: Row) -> str:
    return f"{row['session_id']}/{row['seq']}"


async def _rows(storage: Storage, request: SearchRequest) -> Sequence[Row]:
    most = request.limit + request.own
    chat = None if request.chat is None else chat_number(*request.chat)
    parameters = {"query": request.query.match, "tsquery": request.query.tsquery}
    return await storage.fetch("search", **parameters, since=request.since, chat=chat, most=most)


@dataclass(slots=True)
class RenderedHits:
    """The hits as text, as data for programs, and the origins of the messages."""

    text: str = ""
    data: list[dict[str, Any]] = field(default_factory=list)
    origins: tuple[Origin, ...] = ()


async def render_hits(
    storage: Storage, found: SearchResult, words: Sequence[str], around: int
) -> RenderedHits:
    """Render the hits, up to MAX_ANSWER_CHARS."""
    parts: list[str] = []
    rendered = RenderedHits()
    data = rendered.data
    spans: dict[str, tuple[int, int]] = {}
    chars = 0
    for row in found.rows:
        piece = snippet(row["text"], words)
        lines, last = await _lines(storage, row, piece, around)
        part = "\n".join([_heading(row), *lines])
        chars += len(part)
        if parts and chars > MAX_ANSWER_CHARS:
            parts.append(f"[{len(found.rows) - len(data)} more messages omitted; reduce limit]")
            break
        parts.append(part)
        names = ("session_id", "seq", "role", "created", "title", "channel", "chat_id")
        data.append({**{name: row[name] for name in names}, "snippet": piece})
        _widen(spans, row, last, around)
    rendered.origins = await _origins(storage, spans)
    rendered.text = "\n\n".join(parts)
    return rendered


def _widen(spans: dict[str, tuple[int, int]], row: Row, last: int, around: int) -> None:
    """Extend a session's span by the messages that a hit, and its neighbours up to ``last``, are
    made from.

    A person's message stands alone; the agent's are made from all earlier messages, and a title
    from all messages.
    """
    alone = row["role"] == "user" and not around and not row["title"]
    first, last = row["seq"] if alone else 0, AFTER_LAST if row["title"] else last
    known = spans.get(row["session_id"], (first, last))
    spans[row["session_id"]] = (min(first, known[0]), max(last, known[1]))


async def _origins(storage: Storage, spans: Mapping[str, tuple[int, int]]) -> tuple[Origin, ...]:
    """Return the origins of the messages in the spans."""
    found: dict[Origin, None] = {}
    for session_id, (first, last) in spans.items():
        rows = await storage.fetch("origins", session_id=session_id, first=first, last=last)
        found |= {Origin(row["kind"], row["source"] or ""): None for row in rows}
    return tuple(found)


def _heading(row: Row) -> str:
    title = f" {shortened(row['title'], 0, 80)!r}" if row["title"] else ""
    return f"{_when(row['created'])}, session {row['session_id']}{title}, message {row['seq']}"


async def _lines(storage: Storage, row: Row, piece: str, around: int) -> tuple[list[str], int]:
    """Return the hit with the messages before and after it, and the number of the last one."""
    hit = f"> {row['role']}: {piece}"
    if not around:
        return [hit], row["seq"]
    place = {"session_id": row["session_id"], "seq": row["seq"], "most": around}
    before = await storage.fetch("before", **place)
    after = await storage.fetch("after", **place)
    lines = [*map(_neighbour, reversed(before)), hit, *map(_neighbour, after)]
    return lines, after[-1]["seq"] if after else row["seq"]


def _neighbour(row: Row) -> str:
    return f"  {row['role']}: {shortened(row['text'], 0, NEIGHBOUR_CHARS)}"


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")
