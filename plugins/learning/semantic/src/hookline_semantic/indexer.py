"""Embeds every entry in the background: batch by batch, within the daily budget."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import HooklineError, Host, Refused, SearchableCorpus

from .breaker import CircuitBreaker
from .config import SemanticConfig
from .embedders import Embedder, EmbeddingFailed
from .vector_store import COHORT, CorpusEntry, VectorStore, digest

if TYPE_CHECKING:
    from .matrix import Floats

MESSAGES = "sessions"
"""The corpus of core's messages."""
MAX_BATCH_CHARS = 100_000
"""Characters of one request."""
AFTER_NEWEST = 2**63 - 1
"""Higher than the row number of any message."""
REFUSED = b""
"""Stored instead of the vector of a text that ``pre_learn`` refused."""


class BudgetSpent(HooklineError):
    """The daily budget is used up."""


@dataclass(slots=True)
class IndexingResult:
    """The result of a run: texts by corpus, why it stopped early (empty if it did not), and why it
    erased the model's earlier vectors (empty if it did not)."""

    texts: dict[str, int] = field(default_factory=dict)
    stopped: str = ""
    erased: str = ""


class VectorIndexer:
    """Brings the stored vectors up to date with the corpora."""

    def __init__(
        self,
        host: Host,
        config: SemanticConfig,
        embedder: Embedder,
        store: VectorStore,
        breaker: CircuitBreaker,
    ) -> None:
        self._host = host
        self._config = config
        self._embedder = embedder
        self._store = store
        self._breaker = breaker
        self._dirty: set[str] = set()
        self._above = -1
        self._running = asyncio.Lock()

    def includes(self, corpus: str) -> bool:
        """True if the settings include a corpus."""
        return corpus in self._config.corpora

    def changed(self, corpus: str) -> None:
        """Check a corpus again in the next run."""
        self._dirty.add(corpus)

    async def run(self, *, everything: bool, check_model: bool = False) -> IndexingResult:
        """Embed what is missing.

        Args:
            everything: check all corpora and messages, not only those known to have changed.
            check_model: first request one vector, and erase stored ones that are not comparable.
        """
        async with self._running:
            done = IndexingResult()
            if self._breaker.open:
                done.stopped = self._breaker.why
                return done
            try:
                if check_model:
                    await self._erase_incomparable(done)
                await self._embed_missing(done, everything)
            except EmbeddingFailed as error:
                if self._breaker.failed(str(error)):
                    self._host.log.warning("embedding is delayed: %s", error)
                done.stopped = str(error)
            except BudgetSpent as error:
                done.stopped = str(error)
            else:
                if done.texts:
                    self._breaker.succeeded()
            for corpus in (COHORT, *self._config.corpora):
                await self._store.matrix(corpus)  # loads them now rather than in a turn
            return done

    async def _erase_incomparable(self, done: IndexingResult) -> None:
        done.erased = await self._store.model_change(await probe(self._embedder))
        if done.erased:
            await self._store.forget_model()

    async def _embed_missing(self, done: IndexingResult, everything: bool) -> None:
        if everything:
            await self._erase_unused_corpora()
            await self._embed_cohort()
        for corpus in self._host.services.all(SearchableCorpus):
            if corpus.name in self._config.corpora and (everything or corpus.name in self._dirty):
                self._dirty.discard(corpus.name)
                try:
                    await self._embed_corpus(corpus, done)
                except BaseException:
                    self._dirty.add(corpus.name)
                    raise
        if MESSAGES in self._config.corpora:
            await self._embed_messages(done, everything)

    async def _erase_unused_corpora(self) -> None:
        stored = {row["corpus"] for row in await self._host.storage.fetch("counts")}
        offered = {MESSAGES, *(corpus.name for corpus in self._host.services.all(SearchableCorpus))}
        for corpus in stored - {COHORT} - (offered & set(self._config.corpora)):
            await self._store.forget_corpus(corpus)

    async def _embed_cohort(self) -> None:
        from .matrix import cohort

        self._store.begin(COHORT)
        entries = [(digest(text), "", text) for text in cohort()]
        if missing := await self._store.missing(COHORT, entries):
            # All at once, so that they have one model and one length.
            vectors = await self._vectors([message.text for message in missing])
            await self._store.put(zip(missing, vectors, strict=True))

    async def _embed_corpus(self, corpus: SearchableCorpus, done: IndexingResult) -> None:
        self._store.begin(corpus.name)
        entries = [(key, scope, text) for key, scope, text in await corpus.entries()]
        missing = await self._store.missing(corpus.name, entries)
        for batch in self._batches(missing):
            await self._embed_batch(batch, done)

    async def _embed_messages(self, done: IndexingResult, everything: bool) -> None:
        """Embed messages, newest first; deleted ones lose their vectors by the foreign key."""
        rows = await self._host.storage.fetch("last_message")
        top = rows[0]["doc"]
        above, below = -1 if everything else self._above, AFTER_NEWEST
        self._store.begin(MESSAGES)
        while True:
            rows = await self._host.storage.fetch(
                "messages_without",
                model=self._store.model,
                above=above,
                below=below,
                most=self._config.batch,
            )
            if not rows:
                break
            below = rows[-1]["doc"]
            for batch in self._batches([_message(row) for row in rows]):
                await self._embed_batch(batch, done)
        self._above = top if top is not None else -1

    def _batches(self, entries: Sequence[CorpusEntry]) -> list[list[CorpusEntry]]:
        batches: list[list[CorpusEntry]] = []
        chars_left = count = 0
        for entry in entries:
            size = min(len(entry.text), self._config.max_chars)
            if not batches or chars_left < size or count == self._config.batch:
                batches.append([])
                chars_left = MAX_BATCH_CHARS
                count = 0
            batches[-1].append(entry)
            chars_left -= size
            count += 1
        return batches

    async def _embed_batch(self, batch: Sequence[CorpusEntry], done: IndexingResult) -> None:
        known = await self._store.vectors_of_same_texts(batch)
        texts: dict[str, str] = {}
        for entry in batch:
            if (mark := digest(entry.text)) not in known and mark not in texts:
                learned = await self._learn(entry.text)
                if learned is None:
                    known[mark] = REFUSED
                else:
                    texts[mark] = learned
        if texts:
            vectors = await self._vectors(list(texts.values()))
            known |= dict(zip(texts, vectors, strict=True))
        await self._store.put([(entry, known[digest(entry.text)]) for entry in batch])
        for entry in batch:
            done.texts[entry.corpus] = done.texts.get(entry.corpus, 0) + 1

    async def _learn(self, text: str) -> str | None:
        """Return the text as ``pre_learn`` returns it; None if it is refused or empty."""
        try:
            learned = await self._host.learn(
                text[: self._config.max_chars], "semantic", "embedding", origins=()
            )
        except Refused:
            return None
        return learned if learned.strip() else None

    async def _vectors(self, texts: Sequence[str]) -> list[bytes]:
        if self._embedder.remote:
            await self._spend(sum(len(text) // 4 + 1 for text in texts))
        vectors = await self._embedder.embed(texts, "passage")
        from .matrix import pack

        return [pack(vector) for vector in vectors]

    async def _spend(self, tokens: int) -> None:
        """Subtract tokens from the daily budget. Raises :class:`BudgetSpent`."""
        today = datetime.fromtimestamp(self._host.now(), UTC).date().isoformat()
        stored: dict[str, Any] = await self._host.storage.kv.get("spent", {})
        spent = stored.get("tokens", 0) if stored.get("day") == today else 0
        if spent + tokens > self._config.daily_tokens:
            raise BudgetSpent(
                f"{spent:,} of today's {self._config.daily_tokens:,} tokens are used; the rest is "
                "embedded tomorrow (plugins.semantic.daily_tokens)"
            )
        await self._host.storage.kv.set("spent", {"day": today, "tokens": spent + tokens})


async def probe(embedder: Embedder) -> Floats:
    """Return the vector of the cohort's first sentence. Raises :class:`EmbeddingFailed`."""
    from .matrix import cohort

    found: Floats = (await embedder.embed(cohort()[:1], "passage"))[0]
    return found


def _message(row: Any) -> CorpusEntry:
    place = (row["session_id"], row["seq"])
    scope = f"{row['channel']}\n{row['chat_id']}"
    return CorpusEntry(MESSAGES, f"{row['session_id']}/{row['seq']}", scope, row["text"], place)
