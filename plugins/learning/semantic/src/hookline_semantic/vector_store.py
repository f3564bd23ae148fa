"""Stores vectors in the plugin's table, cached in memory until the table changes."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hookline_hookspecs import Host, Transaction
from hookline_hookspecs.caching import changes

if TYPE_CHECKING:
    from .matrix import Floats, VectorMatrix

COHORT = "cohort"
"""The corpus of reference sentences, see :func:`.matrix.cohort`."""
HEADER_BYTES = 4
"""Bytes of a stored vector before its dimensions."""
MIN_SAME_MODEL_COSINE = 0.95
"""Cosine of two vectors of one text and model; rounding to 8 bits costs less than 0.01."""
ROWS_PER_READ = 5_000
"""Rows that one read of the table returns."""


def digest(text: str) -> str:
    """Return the hash under which a text's vector is stored."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class CorpusEntry:
    """A text to embed; ``message`` is session id and number if it is one of core's messages."""

    corpus: str
    key: str
    scope: str
    text: str
    message: tuple[str, int] | None = None


@dataclass(slots=True)
class _CachedMatrix:
    matrix: VectorMatrix
    last: int
    """The highest id of its rows."""


class VectorStore:
    """The vectors made by ``model``."""

    def __init__(self, host: Host, model: str) -> None:
        self._host = host
        self.model = model
        self._matrices: dict[str, _CachedMatrix] = {}
        self._state: tuple[int, int] | None = None
        self._as_of: int | None = None
        self._own_write = True
        self._reading = asyncio.Lock()
        self._cohort: Floats | None = None
        self._erased: set[tuple[str, str]] = set()

    async def matrix(self, corpus: str) -> VectorMatrix | None:
        """Return the current vectors of a corpus; None before the cohort has vectors.

        Reads the table only if it was written.
        """
        async with self._reading:
            await self._check_table()
            if self._cohort is None:
                await self._read_cohort()
            if self._cohort is None:
                return None
            last = self._state[0] if self._state else 0
            cached = self._matrices.get(corpus)
            if cached is None or cached.last < last:
                cached = await self._read(corpus, cached, last)
            return cached.matrix

    async def _check_table(self) -> None:
        """Drop the cache if rows of the table were deleted."""
        now = changes(self._host.storage)
        if not self._own_write and now is not None and now == self._as_of:
            return
        self._own_write = False
        self._as_of = now
        rows = await self._host.storage.fetch("state")
        state = (rows[0]["last"] or 0, rows[0]["removed"])
        if self._state is not None and state[1] != self._state[1]:
            self._matrices.clear()
            self._cohort = None
        self._state = state

    async def _read_cohort(self) -> None:
        from .matrix import unit_rows, unpack

        blobs = await self._blobs(COHORT, 0)
        found = [unpack(blob) for _, _, _, blob in blobs]
        if found and len({len(vector) for vector in found}) == 1:
            self._cohort = unit_rows(found)

    async def _read(self, corpus: str, cached: _CachedMatrix | None, last: int) -> _CachedMatrix:
        from .matrix import VectorMatrix

        assert self._cohort is not None
        cached = cached or _CachedMatrix(VectorMatrix(self._cohort), 0)
        rows = await self._blobs(corpus, cached.last)
        await asyncio.to_thread(cached.matrix.add, [row[1:] for row in rows])
        cached.last = max(last, rows[-1][0] if rows else 0)
        self._matrices[corpus] = cached
        return cached

    async def _blobs(self, corpus: str, after: int) -> list[tuple[int, str, str, bytes]]:
        found: list[tuple[int, str, str, bytes]] = []
        while True:
            rows = await self._host.storage.fetch(
                "vectors", corpus=corpus, model=self.model, after=after, most=ROWS_PER_READ
            )
            found += [(r["id"], r["key"], r["scope"], bytes(r["vector"])) for r in rows]
            if len(rows) < ROWS_PER_READ:
                return found
            after = rows[-1]["id"]

    def begin(self, corpus: str) -> None:
        """Call before reading a corpus's entries: entries erased afterwards are not stored."""
        self._erased = {key for key in self._erased if key[0] != corpus}

    async def missing(
        self, corpus: str, entries: Iterable[tuple[str, str, str]]
    ) -> list[CorpusEntry]:
        """Return the entries without a vector; erase vectors of entries that no longer exist."""
        current = {key: CorpusEntry(corpus, key, scope, text) for key, scope, text in entries}
        rows = await self._host.storage.fetch("known", corpus=corpus)
        known = {row["key"]: (row["scope"], row["digest"], row["model"]) for row in rows}
        await self.forget(corpus, [key for key in known if key not in current])
        return [
            one
            for one in current.values()
            if known.get(one.key) != (one.scope, digest(one.text), self.model)
        ]

    async def vectors_of_same_texts(self, entries: Sequence[CorpusEntry]) -> dict[str, bytes]:
        """Return stored vectors of equal texts, by digest."""

        def work(db: Transaction) -> dict[str, bytes]:
            found = {}
            for one in {digest(entry.text) for entry in entries}:
                if rows := db.fetch("same_text", digest=one, model=self.model):
                    found[one] = bytes(rows[0]["vector"])
            return found

        return await self._host.storage.transact(work)

    async def put(self, vectors: Iterable[tuple[CorpusEntry, bytes]]) -> None:
        """Store vectors (empty for refused texts), except of entries erased meanwhile."""
        pairs = list(vectors)

        def work(db: Transaction) -> None:
            for entry, vector in pairs:
                if (entry.corpus, entry.key) in self._erased:
                    continue
                db.execute("forget", corpus=entry.corpus, key=entry.key)
                row = {
                    "key": entry.key,
                    "scope": entry.scope,
                    "digest": digest(entry.text),
                    "model": self.model,
                    "vector": vector,
                }
                if entry.message is None:
                    db.execute("add", corpus=entry.corpus, **row)
                else:
                    session_id, seq = entry.message
                    db.execute("add_message", session_id=session_id, seq=seq, **row)

        await self._write(work)

    async def forget(self, corpus: str, keys: Iterable[str]) -> None:
        """Erase the vectors of these entries."""
        erased = list(keys)
        self._erased |= {(corpus, key) for key in erased}
        if erased:
            await self._write(
                lambda db: [db.execute("forget", corpus=corpus, key=key) for key in erased]
            )

    async def forget_corpus(self, corpus: str) -> None:
        """Erase the vectors of a corpus that is no longer used."""
        await self._write(lambda db: db.execute("forget_corpus", corpus=corpus))

    async def model_change(self, probe: Floats) -> str:
        """Return how the model's vectors differ from its stored ones; empty if they are comparable.

        Args:
            probe: the model's current vector of the cohort's first sentence.
        """
        from .matrix import cohort, unit, unpack

        size = len(probe)
        rows = await self._host.storage.fetch("unfit", model=self.model, bytes=size + HEADER_BYTES)
        if rows:
            others = " and ".join(str(row["bytes"] - HEADER_BYTES) for row in rows)
            return f"has {size} dimensions, but stored vectors have {others}"
        mark = digest(cohort()[0])
        rows = await self._host.storage.fetch("same_text", digest=mark, model=self.model)
        if rows and float(unpack(bytes(rows[0]["vector"])) @ unit(probe)) < MIN_SAME_MODEL_COSINE:
            return "now makes other vectors of the same text than the stored ones"
        return ""

    async def forget_model(self) -> None:
        """Erase all vectors of the model."""
        await self._write(lambda db: db.execute("forget_model", model=self.model))

    async def _write(self, work: object) -> None:
        self._own_write = True
        try:
            await self._host.storage.transact(work)  # type: ignore[arg-type]
        finally:
            self._own_write = True
