"""The vectors in the plugin's table, and in memory for as long as the table says the same."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hookline_hookspecs import Host, Transaction
from hookline_hookspecs.caching import changes

if TYPE_CHECKING:
    from .matrix import Floats, Matrix

COHORT = "cohort"
"""The corpus of the sentences about nothing in particular."""
HEAD = 4
"""Bytes of a stored vector before those of its dimensions."""
LEAST_ALIKE = 0.95
"""Cosine of two vectors that one model makes of one text; 8 bits and a GPU cost less than 0.01."""
AT_ONCE = 5_000
"""Rows that one read of the table returns."""


def digest(text: str) -> str:
    """The hash by which a text's vector is kept."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Entry:
    """A text that may be found. ``message``: session id and number, of one of core's messages."""

    corpus: str
    key: str
    scope: str
    text: str
    message: tuple[str, int] | None = None


@dataclass(slots=True)
class _Held:
    matrix: Matrix
    last: int


class Kept:
    """The vectors that ``model`` has made."""

    def __init__(self, host: Host, model: str) -> None:
        self._host = host
        self.model = model
        self._held: dict[str, _Held] = {}
        self._state: tuple[int, int] | None = None
        self._as_of: int | None = None
        self._own_write = True
        self._reading = asyncio.Lock()
        self._cohort: Floats | None = None
        self._erased: set[tuple[str, str]] = set()

    async def matrix(self, corpus: str) -> Matrix | None:
        """The vectors of a corpus as they are now; None before the cohort has vectors. Reads
        nothing while nobody writes."""
        async with self._reading:
            await self._look()
            if self._cohort is None:
                await self._read_cohort()
            if self._cohort is None:
                return None
            last = self._state[0] if self._state else 0
            held = self._held.get(corpus)
            if held is None or held.last < last:
                held = await self._read(corpus, held, last)
            return held.matrix

    async def _look(self) -> None:
        """See whether the table has changed; drop what is held if rows are gone."""
        now = changes(self._host.storage)
        if not self._own_write and now is not None and now == self._as_of:
            return
        self._own_write, self._as_of = False, now
        rows = await self._host.storage.fetch("state")
        state = (rows[0]["last"] or 0, rows[0]["removed"])
        if self._state is not None and state[1] != self._state[1]:
            self._held.clear()
            self._cohort = None
        self._state = state

    async def _read_cohort(self) -> None:
        from .matrix import units, unpacked

        blobs = await self._blobs(COHORT, 0)
        found = [unpacked(blob) for _, _, _, blob in blobs]
        if found and len({len(one) for one in found}) == 1:
            self._cohort = units(found)

    async def _read(self, corpus: str, held: _Held | None, last: int) -> _Held:
        from .matrix import Matrix

        assert self._cohort is not None
        held = held or _Held(Matrix(self._cohort), 0)
        rows = await self._blobs(corpus, held.last)
        await asyncio.to_thread(held.matrix.add, [row[1:] for row in rows])
        held.last = max(last, rows[-1][0] if rows else 0)
        self._held[corpus] = held
        return held

    async def _blobs(self, corpus: str, after: int) -> list[tuple[int, str, str, bytes]]:
        found: list[tuple[int, str, str, bytes]] = []
        while True:
            rows = await self._host.storage.fetch(
                "vectors", corpus=corpus, model=self.model, after=after, most=AT_ONCE
            )
            found += [(r["id"], r["key"], r["scope"], bytes(r["vector"])) for r in rows]
            if len(rows) < AT_ONCE:
                return found
            after = rows[-1]["id"]

    def begin(self, corpus: str) -> None:
        """Call before a corpus is asked for its entries: what is erased from now on stays so."""
        self._erased = {one for one in self._erased if one[0] != corpus}

    async def missing(self, corpus: str, entries: Iterable[tuple[str, str, str]]) -> list[Entry]:
        """The entries that have no vector yet; what is no entry any more is erased."""
        wanted = {key: Entry(corpus, key, scope, text) for key, scope, text in entries}
        rows = await self._host.storage.fetch("known", corpus=corpus)
        known = {row["key"]: (row["scope"], row["digest"], row["model"]) for row in rows}
        await self.forget(corpus, [key for key in known if key not in wanted])
        return [
            one
            for one in wanted.values()
            if known.get(one.key) != (one.scope, digest(one.text), self.model)
        ]

    async def same(self, entries: Sequence[Entry]) -> dict[str, bytes]:
        """Vectors that are there already for the same texts, by digest."""

        def work(db: Transaction) -> dict[str, bytes]:
            found = {}
            for one in {digest(entry.text) for entry in entries}:
                if rows := db.fetch("same_text", digest=one, model=self.model):
                    found[one] = bytes(rows[0]["vector"])
            return found

        return await self._host.storage.transact(work)

    async def put(self, made: Iterable[tuple[Entry, bytes]]) -> None:
        """Store vectors, empty ones of refused texts too; none of what was erased meanwhile."""
        made = list(made)

        def work(db: Transaction) -> None:
            for entry, vector in made:
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
        gone = list(keys)
        self._erased |= {(corpus, key) for key in gone}
        if gone:
            await self._write(
                lambda db: [db.execute("forget", corpus=corpus, key=key) for key in gone]
            )

    async def forget_corpus(self, corpus: str) -> None:
        """Erase the vectors of a corpus that is compared no more."""
        await self._write(lambda db: db.execute("forget_corpus", corpus=corpus))

    async def changed(self, probe: Floats) -> str:
        """How the model's vectors differ from those that it made under the same name before; empty
        if they can be compared. ``probe``: what it makes now of the cohort's first sentence."""
        from .matrix import cohort, unit, unpacked

        size = len(probe)
        rows = await self._host.storage.fetch("unfit", model=self.model, bytes=size + HEAD)
        if rows:
            others = " and ".join(str(row["bytes"] - HEAD) for row in rows)
            return f"has {size} dimensions, but vectors of {others} are kept"
        mark = digest(cohort()[0])
        rows = await self._host.storage.fetch("same_text", digest=mark, model=self.model)
        if rows and float(unpacked(bytes(rows[0]["vector"])) @ unit(probe)) < LEAST_ALIKE:
            return "makes other vectors of the same text than those that are kept"
        return ""

    async def forget_model(self) -> None:
        """Erase what the model made."""
        await self._write(lambda db: db.execute("forget_model", model=self.model))

    async def _write(self, work: object) -> None:
        self._own_write = True
        try:
            await self._host.storage.transact(work)  # type: ignore[arg-type]
        finally:
            self._own_write = True
