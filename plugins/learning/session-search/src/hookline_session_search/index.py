"""Keeps the full-text index in step with core's messages, a batch at a time.

New messages come first, then those from before the plugin was switched on, newest first. Deleted
messages need no work: their rows are deleted with them (see the migration).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence

from hookline_hookspecs import Storage, Transaction
from hookline_hookspecs.storage import Row

from .tokens import stored

AT_ONCE = 20
"""Batches of older messages that a search waits for."""
BATCH = 200
"""Messages in one transaction, which blocks other writes for about 10 ms."""
BATCH_CHARS = 400_000
"""Characters after which a batch ends before that."""
MERGE_PAGES = 500
"""Pages of the full-text index (4 kB) that one step of merging writes."""
SWEEP = 20_000
"""Rows that one step of sweeping compares."""
NEWEST = 2**63 - 1


class Index:
    """The index in the plugin's ``storage``, which is opened when it is first used."""

    def __init__(self, storage: Callable[[], Storage]) -> None:
        self._open = storage

    async def catch_up(self, batches: int) -> bool:
        """Index what is missing; return False if there is more after ``batches`` batches."""
        for _ in range(batches):
            if not await self._open().transact(_step):
                return True
        return False

    async def catch_up_with_new(self) -> None:
        """Index every message that is newer than the index."""
        while await self._open().transact(_newer_step):
            pass

    async def forget_words(self) -> None:
        """Drop the words of deleted sessions from the segments of the index."""
        storage = self._open()
        if not await storage.fetch("deleted"):
            return
        # A negative number starts a full merge, a positive one continues it.
        more = await storage.transact(lambda db: _merge(db, -MERGE_PAGES))
        while more:
            more = await storage.transact(lambda db: _merge(db, MERGE_PAGES))

    async def sweep(self) -> None:
        """Remove messages that were deleted by a program that does not enforce foreign keys."""
        storage = self._open()
        [edges] = await storage.fetch("edges")
        first = edges["low"] if edges["low"] is not None else NEWEST
        for start in range(first, (edges["high"] or 0) + 1, SWEEP):
            for row in await storage.fetch("orphans", first=start, last=start + SWEEP - 1):
                await storage.execute("forget", doc=row["doc"])
        await storage.execute("forget_sessions")


def chat_number(channel: str, chat_id: str) -> int:
    """Return a chat's number in the index: 63 bits of a hash."""
    name = json.dumps([channel, chat_id]).encode()
    return int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "big") >> 1


def _step(db: Transaction) -> bool:
    """Index the next batch, in one transaction; return False if nothing is left to do."""
    if _newer_step(db):  # there may be more of them
        return True
    [edges] = db.fetch("edges")
    low = NEWEST if edges["low"] is None else edges["low"]
    return _add(db, db.fetch("older", low=low, most=BATCH))


def _newer_step(db: Transaction) -> bool:
    [edges] = db.fetch("edges")
    if edges["high"] is None:
        return False  # the first batch is that of the newest among the older ones
    if not edges["aligned"]:
        # Rows were renumbered from some row on: removing the newest down to it is enough.
        return db.execute("forget_newest", most=BATCH) > 0
    return _add(db, db.fetch("newer", high=edges["high"], most=BATCH))


def _add(db: Transaction, rows: Sequence[Row]) -> bool:
    """Index ``rows`` in order, so that no gap is left; return False if there are no more."""
    chars, sessions, more = 0, set(), len(rows) == BATCH
    for row in rows:
        if chars > BATCH_CHARS:
            more = True
            break
        chat = chat_number(row["channel"] or "", row["chat_id"] or "")
        place = {name: row[name] for name in ("doc", "session_id", "seq", "created")}
        db.execute("add_message", **place, chat=chat)
        if row["kind"] == "chat" and row["text"]:
            db.execute("add_text", doc=row["doc"], text=stored(row["text"]))
            sessions.add(row["session_id"])
        chars += len(row["text"])
    for session_id in sessions:
        db.execute("add_session", id=session_id)
    return more


def _merge(db: Transaction, pages: int) -> bool:
    """Merge some pages; return False when nothing was left, which FTS5 shows by changing fewer than
    two rows."""
    before = db.fetch("changes")[0]["n"]
    db.execute("merge", pages=pages)
    if db.fetch("changes")[0]["n"] - before >= 2:
        return True
    db.execute("forget_deleted")
    return False
