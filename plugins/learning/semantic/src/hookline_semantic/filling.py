"""Gives every entry a vector, in the background: batch by batch, within the day's budget."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import HooklineError, Host, Refused, SearchableCorpus

from .breaker import Breaker
from .config import SemanticConfig
from .embedders import Embedder, Failed
from .kept import COHORT, Entry, Kept, digest

if TYPE_CHECKING:
    from .matrix import Floats

MESSAGES = "sessions"
"""The corpus that is core's messages."""
BATCH_CHARS = 100_000
"""Characters of one request at most."""
NEWEST = 2**63 - 1
REFUSED = b""
"""In place of the vector of a text that the guards refused."""


class Spent(HooklineError):
    """The day's budget is used up."""


@dataclass(slots=True)
class Filled:
    """What one round did: texts by corpus, why it stopped early, and why it first erased what the
    model had made."""

    texts: dict[str, int] = field(default_factory=dict)
    stopped: str = ""
    erased: str = ""


class Filling:
    """Brings the kept vectors up to what there is to be found."""

    def __init__(
        self, host: Host, config: SemanticConfig, embedder: Embedder, kept: Kept, breaker: Breaker
    ) -> None:
        self._host = host
        self._config = config
        self._embedder = embedder
        self._kept = kept
        self._breaker = breaker
        self._dirty: set[str] = set()
        self._above = -1
        self._running = asyncio.Lock()

    def takes(self, corpus: str) -> bool:
        """Whether the settings name a corpus."""
        return corpus in self._config.corpora

    def changed(self, corpus: str) -> None:
        """Look at a corpus again in the next round."""
        self._dirty.add(corpus)

    async def round(self, *, everything: bool, anew: bool = False) -> Filled:
        """Embed what is missing; ``everything`` looks at every corpus and message, otherwise only
        at what is known to be new. ``anew`` first asks for one vector, and erases the others if
        they cannot be compared with it."""
        async with self._running:
            done = Filled()
            if self._breaker.open:
                done.stopped = self._breaker.why
                return done
            try:
                if anew:
                    await self._outgrown(done)
                await self._all(done, everything)
            except Failed as error:
                if self._breaker.failed(str(error)):
                    self._host.log.warning("texts wait for their vectors: %s", error)
                done.stopped = str(error)
            except Spent as error:
                done.stopped = str(error)
            else:
                if done.texts:
                    self._breaker.succeeded()
            for corpus in (COHORT, *self._config.corpora):
                await self._kept.matrix(corpus)  # so that no turn reads them
            return done

    async def _outgrown(self, done: Filled) -> None:
        done.erased = await self._kept.changed(await probe(self._embedder))
        if done.erased:
            await self._kept.forget_model()

    async def _all(self, done: Filled, everything: bool) -> None:
        if everything:
            await self._drop_what_is_off()
            await self._cohort()
        for corpus in self._host.services.all(SearchableCorpus):
            if corpus.name in self._config.corpora and (everything or corpus.name in self._dirty):
                self._dirty.discard(corpus.name)
                try:
                    await self._corpus(corpus, done)
                except BaseException:
                    self._dirty.add(corpus.name)
                    raise
        if MESSAGES in self._config.corpora:
            await self._messages(done, everything)

    async def _drop_what_is_off(self) -> None:
        kept = {row["corpus"] for row in await self._host.storage.fetch("counts")}
        offered = {MESSAGES, *(corpus.name for corpus in self._host.services.all(SearchableCorpus))}
        for corpus in kept - {COHORT} - (offered & set(self._config.corpora)):
            await self._kept.forget_corpus(corpus)

    async def _cohort(self) -> None:
        from .matrix import cohort

        self._kept.begin(COHORT)
        entries = [(digest(text), "", text) for text in cohort()]
        if missing := await self._kept.missing(COHORT, entries):
            # All at once, so that they are of one model and one length.
            made = await self._vectors([one.text for one in missing])
            await self._kept.put(zip(missing, made, strict=True))

    async def _corpus(self, corpus: SearchableCorpus, done: Filled) -> None:
        self._kept.begin(corpus.name)
        entries = [(key, scope, text) for key, scope, text in await corpus.entries()]
        missing = await self._kept.missing(corpus.name, entries)
        for batch in self._batches(missing):
            await self._embed(batch, done)

    async def _messages(self, done: Filled, everything: bool) -> None:
        """The newest first; one that is deleted takes its vector along."""
        rows = await self._host.storage.fetch("last_message")
        top = rows[0]["doc"]
        above, below = -1 if everything else self._above, NEWEST
        self._kept.begin(MESSAGES)
        while True:
            rows = await self._host.storage.fetch(
                "messages_without",
                model=self._kept.model,
                above=above,
                below=below,
                most=self._config.batch,
            )
            if not rows:
                break
            below = rows[-1]["doc"]
            for batch in self._batches([_message(row) for row in rows]):
                await self._embed(batch, done)
        self._above = top if top is not None else -1

    def _batches(self, entries: Sequence[Entry]) -> list[list[Entry]]:
        batches: list[list[Entry]] = []
        room = count = 0
        for entry in entries:
            size = min(len(entry.text), self._config.max_chars)
            if not batches or room < size or count == self._config.batch:
                batches.append([])
                room, count = BATCH_CHARS, 0
            batches[-1].append(entry)
            room, count = room - size, count + 1
        return batches

    async def _embed(self, batch: Sequence[Entry], done: Filled) -> None:
        known = await self._kept.same(batch)
        texts: dict[str, str] = {}
        for entry in batch:
            if (mark := digest(entry.text)) not in known and mark not in texts:
                passed = await self._passed(entry.text)
                if passed is None:
                    known[mark] = REFUSED
                else:
                    texts[mark] = passed
        if texts:
            made = await self._vectors(list(texts.values()))
            known |= dict(zip(texts, made, strict=True))
        await self._kept.put([(entry, known[digest(entry.text)]) for entry in batch])
        for entry in batch:
            done.texts[entry.corpus] = done.texts.get(entry.corpus, 0) + 1

    async def _passed(self, text: str) -> str | None:
        """The text as the guards pass what is remembered; None if they refuse it."""
        try:
            passed = await self._host.learn(
                text[: self._config.max_chars], "semantic", "embedding", origins=()
            )
        except Refused:
            return None
        return passed if passed.strip() else None

    async def _vectors(self, texts: Sequence[str]) -> list[bytes]:
        if self._embedder.remote:
            await self._spend(sum(len(text) // 4 + 1 for text in texts))
        made = await self._embedder.embed(texts, "passage")
        from .matrix import packed

        return [packed(one) for one in made]

    async def _spend(self, tokens: int) -> None:
        """Take tokens off the day's budget. Raises :class:`Spent`."""
        today = datetime.fromtimestamp(self._host.now(), UTC).date().isoformat()
        kept: dict[str, Any] = await self._host.storage.kv.get("spent", {})
        spent = kept.get("tokens", 0) if kept.get("day") == today else 0
        if spent + tokens > self._config.daily_tokens:
            raise Spent(
                f"{spent:,} of {self._config.daily_tokens:,} tokens of the day are used; the rest "
                "is embedded tomorrow (plugins.semantic.daily_tokens)"
            )
        await self._host.storage.kv.set("spent", {"day": today, "tokens": spent + tokens})


async def probe(embedder: Embedder) -> Floats:
    """What an embedder makes of the cohort's first sentence. Raises :class:`Failed`."""
    from .matrix import cohort

    found: Floats = (await embedder.embed(cohort()[:1], "passage"))[0]
    return found


def _message(row: Any) -> Entry:
    place = (row["session_id"], row["seq"])
    scope = f"{row['channel']}\n{row['chat_id']}"
    return Entry(MESSAGES, f"{row['session_id']}/{row['seq']}", scope, row["text"], place)
