"""Finds the best matching messages and renders them for a model."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from hookline_hookspecs import Origin, SemanticIndex, Storage, fuse
from hookline_hookspecs.storage import Row

from .index import AT_ONCE, Index, chat_number
from .snippet import shortened, snippet
from .tokens import Query

CORPUS, ALIKE = "sessions", 0.6
"""What messages are called where texts are compared by meaning, and the likeness that one needs."""
NEIGHBOUR = 200
"""Characters shown of a message around a hit."""
EVERY = 2**62
"""Above the number of every message."""
MOST_CHARS = 16_000
"""Characters of a whole answer."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is searched: ``chat`` (channel and chat id; None is all), messages from ``since`` (Unix
    time), at most ``limit`` of them, none of the turn ``but_turn``, which has ``own`` messages."""

    query: Query
    text: str
    chat: tuple[str, str] | None
    since: float = 0.0
    limit: int = 5
    but_turn: str = ""
    own: int = 0


@dataclass(frozen=True, slots=True)
class Found:
    """The messages, best first; ``complete`` unless older ones are not indexed yet."""

    rows: Sequence[Row]
    complete: bool


async def search(
    storage: Storage, index: Index, wanted: Wanted, likeness: SemanticIndex | None = None
) -> Found:
    """Return the best matches by BM25, newer ones first among equals; with ``likeness``, fused with
    the messages that are most like the query."""
    rows = await _rows(storage, wanted)
    if rows[0]["behind"] or rows[0]["older"]:
        await index.catch_up_with_new()
        await index.catch_up(AT_ONCE)
        rows = await _rows(storage, wanted)
    by_words = [row for row in rows if row["text"] and row["turn_id"] != wanted.but_turn]
    hits = by_words if likeness is None else await _fused(storage, by_words, wanted, likeness)
    return Found(hits[: wanted.limit], not rows[0]["older"])


async def _fused(
    storage: Storage, hits: Sequence[Row], wanted: Wanted, likeness: SemanticIndex
) -> Sequence[Row]:
    """The hits and what is like the query, in one ranking."""
    scope = None if wanted.chat is None else "\n".join(wanted.chat)
    most = wanted.limit + wanted.own
    near = await likeness.nearest(CORPUS, wanted.text, scope=scope, limit=most)
    alike = [key for key, one in near.items() if one >= ALIKE]
    if not alike:
        return hits
    places = [(session, int(seq)) for session, _, seq in (key.rpartition("/") for key in alike)]
    rows = await storage.fetch(
        "placed",
        places=json.dumps(places),
        since=wanted.since,
        channel=wanted.chat and wanted.chat[0],
        chat_id=wanted.chat and wanted.chat[1],
    )
    by_key = {_key(row): row for row in rows if row["turn_id"] != wanted.but_turn}
    meant = [key for key in alike if key in by_key]
    by_key |= {_key(row): row for row in hits}
    return [by_key[key] for key in fuse(map(_key, hits), meant)]


def _key(row: Row) -> str:
    return f"{row['session_id']}/{row['seq']}"


async def _rows(storage: Storage, wanted: Wanted) -> Sequence[Row]:
    most = wanted.limit + wanted.own
    chat = None if wanted.chat is None else chat_number(*wanted.chat)
    both = {"query": wanted.query.match, "wanted": wanted.query.wanted}
    return await storage.fetch("search", **both, since=wanted.since, chat=chat, most=most)


@dataclass(slots=True)
class Shown:
    """The hits as text, as data for programs, and where the messages came from."""

    text: str = ""
    data: list[dict[str, Any]] = field(default_factory=list)
    origins: tuple[Origin, ...] = ()


async def shown(storage: Storage, found: Found, words: Sequence[str], around: int) -> Shown:
    """Render the hits; cut off when too long."""
    parts: list[str] = []
    all_ = Shown()
    data = all_.data
    spans: dict[str, tuple[int, int]] = {}
    chars = 0
    for row in found.rows:
        piece = snippet(row["text"], words)
        lines, last = await _lines(storage, row, piece, around)
        part = "\n".join([_heading(row), *lines])
        chars += len(part)
        if parts and chars > MOST_CHARS:
            parts.append(f"[{len(found.rows) - len(data)} more messages left out; ask for fewer]")
            break
        parts.append(part)
        names = ("session_id", "seq", "role", "created", "title", "channel", "chat_id")
        data.append({**{name: row[name] for name in names}, "snippet": piece})
        _widen(spans, row, last, around)
    all_.origins = await _origins(storage, spans)
    all_.text = "\n\n".join(parts)
    return all_


def _widen(spans: dict[str, tuple[int, int]], row: Row, last: int, around: int) -> None:
    """Add to a session's span the messages that a hit, and its neighbours up to ``last``, are from.

    A person's message is theirs; what the agent wrote was made from all that the session had read,
    and a title from the whole of it.
    """
    alone = row["role"] == "user" and not around and not row["title"]
    first, last = row["seq"] if alone else 0, EVERY if row["title"] else last
    known = spans.get(row["session_id"], (first, last))
    spans[row["session_id"]] = (min(first, known[0]), max(last, known[1]))


async def _origins(storage: Storage, spans: Mapping[str, tuple[int, int]]) -> tuple[Origin, ...]:
    """Where the messages in the spans came from."""
    found: dict[Origin, None] = {}
    for session_id, (first, last) in spans.items():
        rows = await storage.fetch("origins", session_id=session_id, first=first, last=last)
        found |= {Origin(row["kind"], row["source"] or ""): None for row in rows}
    return tuple(found)


def _heading(row: Row) -> str:
    title = f" {shortened(row['title'], 0, 80)!r}" if row["title"] else ""
    return f"{_when(row['created'])}, session {row['session_id']}{title}, message {row['seq']}"


async def _lines(storage: Storage, row: Row, piece: str, around: int) -> tuple[list[str], int]:
    """Return the hit between the messages before and after it, and the number of the last one."""
    hit = f"> {row['role']}: {piece}"
    if not around:
        return [hit], row["seq"]
    place = {"session_id": row["session_id"], "seq": row["seq"], "most": around}
    before = await storage.fetch("before", **place)
    after = await storage.fetch("after", **place)
    lines = [*map(_neighbour, reversed(before)), hit, *map(_neighbour, after)]
    return lines, after[-1]["seq"] if after else row["seq"]


def _neighbour(row: Row) -> str:
    return f"  {row['role']}: {shortened(row['text'], 0, NEIGHBOUR)}"


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")
