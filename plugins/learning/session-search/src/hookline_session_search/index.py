"""Keeps the full-text index up to date with core's messages, in batches.

New messages come first, then those from before the plugin was enabled, newest first. The rows of
deleted messages are deleted by foreign keys (see the migration).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence

from hookline_hookspecs import Storage, Transaction
from hookline_hookspecs.storage import Row

from .tokens import index_text

MAX_BATCHES_PER_SEARCH = 20
"""Batches of older messages that a search waits for."""
BATCH_MESSAGES = 200
"""Messages in one transaction, which blocks other writers for about 10 ms."""
MAX_BATCH_CHARS = 400_000
"""Characters after which a batch ends early."""
MERGE_PAGES = 500
"""Pages of the full-text index (4 kB) that one step of merging writes."""
SWEEP_ROWS = 20_000
"""Rows that one step of a sweep checks."""
AFTER_NEWEST = 2**63 - 1
"""Higher than the row number of any message."""


class MessageIndex:
    """The full-text index.

    Args:
        storage: returns the plugin's storage; called on each use.
    """

    def __init__(self, storage: Callable[[], Storage]) -> None:
        self._open = storage

    async def catch_up(self, batches: int) -> bool:
        """Index missing messages; return False if some remain after ``batches`` batches."""
        for _ in range(batches):
            if not await self._open().transact(_step):
                return True
        return False

    async def catch_up_with_new(self) -> None:
        """Index all messages newer than the index."""
        while await self._open().transact(_newer_step):
            pass

    async def forget_words(self) -> None:
        """Remove the words of deleted sessions from the segments of the index."""
        storage = self._open()
        if not await storage.fetch("deleted"):
            return
        # A negative number starts a full merge, a positive one continues it.
        more = await storage.transact(lambda db: _merge(db, -MERGE_PAGES))
        while more:
            more = await storage.transact(lambda db: _merge(db, MERGE_PAGES))

    async def sweep(self) -> None:
        """Remove rows of messages deleted by a program that does not enforce foreign keys."""
        storage = self._open()
        [edges] = await storage.fetch("edges")
        first = edges["low"] if edges["low"] is not None else AFTER_NEWEST
        for start in range(first, (edges["high"] or 0) + 1, SWEEP_ROWS):
            for row in await storage.fetch("orphans", first=start, last=start + SWEEP_ROWS - 1):
                await storage.execute("forget", doc=row["doc"])
        await storage.execute("forget_sessions")


def chat_number(channel: str, chat_id: str) -> int:
    """Return a chat's number in the index: 63 bits of a hash."""
    name = json.dumps([channel, chat_id]).encode()
    return int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "big") >> 1


def _step(db: Transaction) -> bool:
    """Index the next batch; return False if nothing is left."""
    if _newer_step(db):  # there may be more new ones
        return True
    [edges] = db.fetch("edges")
    low = AFTER_NEWEST if edges["low"] is None else edges["low"]
    return _add(db, db.fetch("older", low=low, most=BATCH_MESSAGES))


def _newer_step(db: Transaction) -> bool:
    [edges] = db.fetch("edges")
    if edges["high"] is None:
        return False  # an empty index starts with the newest of the older messages
    if not edges["aligned"]:
        # Rows were renumbered from some row on: removing the newest down to it is enough.
        return db.execute("forget_newest", most=BATCH_MESSAGES) > 0
    return _add(db, db.fetch("newer", high=edges["high"], most=BATCH_MESSAGES))


def _add(db: Transaction, rows: Sequence[Row]) -> bool:
    """Index ``rows`` in order, without a gap; return False if there are no more."""
    chars = 0
    sessions: set[str] = set()
    more = len(rows) == BATCH_MESSAGES
    for row in rows:
        if chars > MAX_BATCH_CHARS:
            more = True
            break
        chat = chat_number(row["channel"] or "", row["chat_id"] or "")
        place = {name: row[name] for name in ("doc", "session_id", "seq", "created")}
        db.execute("add_message", **place, chat=chat)
        if row["kind"] == "chat" and row["text"]:
            db.execute("add_text", doc=row["doc"], text=index_text(row["text"]))
            sessions.add(row["session_id"])
        chars += len(row["text"])
    for session_id in sessions:
        db.execute("add_session", id=session_id)
    return more


def _merge(db: Transaction, pages: int) -> bool:
    """Merge some pages; return False if nothing is left, when FTS5 changes fewer than two rows."""
    before = db.fetch("changes")[0]["n"]
    db.execute("merge", pages=pages)
    if db.fetch("changes")[0]["n"] - before >= 2:
        return True
    db.execute("forget_deleted")
    return False
