"""Finds the best matching messages, and renders them for a model."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from hookline_hookspecs import Origin, SemanticIndex, Storage, fuse
from hookline_hookspecs.storage import Row

from . import expressions
from .expressions import Expression
from .index import MAX_BATCHES_PER_SEARCH, MessageIndex, chat_number
from .matched_words import match_words
from .snippet import shortened, snippet
from .tokens import SearchQuery, in_pairs

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
MAX_CHECKED = 100
"""Messages with words that begin like those of the query, whose words are compared."""


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
class Hit:
    """A message that was found: the words to show, and those of the query it does not contain."""

    row: Row
    words: tuple[str, ...]
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The messages, best first; ``complete`` is false while older ones are not indexed yet.

    ``partial``: no message contains every word, and these contain some.
    """

    hits: Sequence[Hit]
    complete: bool
    partial: bool = False


async def search(
    storage: Storage,
    index: MessageIndex,
    request: SearchRequest,
    semantic: SemanticIndex | None = None,
) -> SearchResult:
    """Return the best matches by BM25, newer ones first among equals, then those with inflected
    words; with ``semantic``, fused with the messages nearest in meaning."""
    rows = await _current_rows(storage, index, request, expressions.all_words(request.query))
    hits = [Hit(row, request.query.words) for row in _usable(rows, request)]
    if len(hits) < request.limit:
        hits = await _with_inflected(storage, request, hits)
    if semantic is not None:
        hits = await _fused(storage, hits, request, semantic)
    return SearchResult(hits[: request.limit], not rows[0]["older"])


async def search_any_word(
    storage: Storage, index: MessageIndex, request: SearchRequest
) -> SearchResult:
    """Return the best messages that contain at least one word, those with most words first."""
    wide = replace(request, limit=MAX_CHECKED)
    rows = await _current_rows(storage, index, wide, expressions.any_word(request.query))
    hits = [hit for hit in _checked(rows, request) if hit.words]
    pairs = in_pairs(request.query)
    if not hits and pairs != request.query:
        return await search_any_word(storage, index, replace(request, query=pairs))
    hits.sort(key=lambda hit: len(hit.missing))
    return SearchResult(hits[: request.limit], not rows[0]["older"], partial=bool(hits))


async def _with_inflected(
    storage: Storage, request: SearchRequest, exact: Sequence[Hit]
) -> list[Hit]:
    """Return the hits, then messages that contain every word in some form."""
    expression = expressions.all_words_inflected(request.query)
    if expression == expressions.all_words(request.query):
        return list(exact)
    known = {_key(hit.row) for hit in exact}
    rows = await _rows(storage, replace(request, limit=MAX_CHECKED), expression)
    more = [
        hit for hit in _checked(rows, request) if not hit.missing and _key(hit.row) not in known
    ]
    return [*exact, *more]


def _checked(rows: Sequence[Row], request: SearchRequest) -> list[Hit]:
    """Return the messages with the words of the query that each contains."""
    usable = _usable(rows, request)
    matched = [(row, match_words(request.query, row["text"])) for row in usable]
    return [Hit(row, match.forms, match.missing) for row, match in matched]


def _usable(rows: Sequence[Row], request: SearchRequest) -> list[Row]:
    return [row for row in rows if row["text"] and row["turn_id"] != request.skip_turn]


async def _fused(
    storage: Storage, hits: list[Hit], request: SearchRequest, semantic: SemanticIndex
) -> list[Hit]:
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
    by_key = {_key(row): Hit(row, request.query.words) for row in _usable(rows, request)}
    similar = [key for key in alike if key in by_key]
    by_key |= {_key(hit.row): hit for hit in hits}
    return [by_key[key] for key in fuse((_key(hit.row) for hit in hits), similar)]


def _key(row: Row) -> str:
    return f"{row['session_id']}/{row['seq']}"


async def _current_rows(
    storage: Storage, index: MessageIndex, request: SearchRequest, expression: Expression
) -> Sequence[Row]:
    """Return the rows of the query, after new messages are indexed."""
    rows = await _rows(storage, request, expression)
    if rows[0]["behind"] or rows[0]["older"]:
        await index.catch_up_with_new()
        await index.catch_up(MAX_BATCHES_PER_SEARCH)
        rows = await _rows(storage, request, expression)
    return rows


async def _rows(storage: Storage, request: SearchRequest, expression: Expression) -> Sequence[Row]:
    most = request.limit + request.own
    chat = None if request.chat is None else chat_number(*request.chat)
    parameters = {"query": expression.match, "tsquery": expression.tsquery}
    return await storage.fetch("search", **parameters, since=request.since, chat=chat, most=most)


@dataclass(slots=True)
class RenderedHits:
    """The hits as text, as data for programs, and the origins of the messages."""

    text: str = ""
    data: list[dict[str, Any]] = field(default_factory=list)
    origins: tuple[Origin, ...] = ()


async def render_hits(storage: Storage, found: SearchResult, around: int) -> RenderedHits:
    """Render the hits, up to MAX_ANSWER_CHARS."""
    parts: list[str] = []
    rendered = RenderedHits()
    data = rendered.data
    spans: dict[str, tuple[int, int]] = {}
    chars = 0
    for hit in found.hits:
        row = hit.row
        piece = snippet(row["text"], hit.words)
        lines, last = await _lines(storage, row, piece, around)
        part = "\n".join([_heading(row) + _without(hit), *lines])
        chars += len(part)
        if parts and chars > MAX_ANSWER_CHARS:
            parts.append(f"[{len(found.hits) - len(data)} more messages omitted; reduce limit]")
            break
        parts.append(part)
        names = ("session_id", "seq", "role", "created", "title", "channel", "chat_id")
        shown = {name: row[name] for name in names}
        data.append({**shown, "snippet": piece, "missing": list(hit.missing)})
        widen_span(spans, row, last, around)
    rendered.origins = await find_origins(storage, spans)
    rendered.text = "\n\n".join(parts)
    return rendered


def widen_span(spans: dict[str, tuple[int, int]], row: Row, last: int, around: int) -> None:
    """Extend a session's span by the messages that a hit, and its neighbours up to ``last``, are
    made from.

    A person's message stands alone; the agent's are made from all earlier messages, and a title
    from all messages.
    """
    alone = row["role"] == "user" and not around and not row["title"]
    first, last = row["seq"] if alone else 0, AFTER_LAST if row["title"] else last
    known = spans.get(row["session_id"], (first, last))
    spans[row["session_id"]] = (min(first, known[0]), max(last, known[1]))


async def find_origins(
    storage: Storage, spans: Mapping[str, tuple[int, int]]
) -> tuple[Origin, ...]:
    """Return the origins of the messages in the spans."""
    found: dict[Origin, None] = {}
    for session_id, (first, last) in spans.items():
        rows = await storage.fetch("origins", session_id=session_id, first=first, last=last)
        found |= {Origin(row["kind"], row["source"] or ""): None for row in rows}
    return tuple(found)


def _heading(row: Row) -> str:
    title = f" {shortened(row['title'], 0, 80)!r}" if row["title"] else ""
    return f"{_when(row['created'])}, session {row['session_id']}{title}, message {row['seq']}"


def _without(hit: Hit) -> str:
    return f", without {', '.join(hit.missing)}" if hit.missing else ""


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
