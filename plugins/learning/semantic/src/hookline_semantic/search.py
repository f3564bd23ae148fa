"""Finds the texts nearest in meaning to a query, if its vector arrives in time."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from time import monotonic
from typing import TYPE_CHECKING

from hookline_hookspecs import HooklineError, Host

from .breaker import CircuitBreaker
from .config import SemanticConfig
from .embedders import Embedder, EmbeddingFailed, describe_embedder
from .vector_store import VectorStore, digest

if TYPE_CHECKING:
    from .matrix import Floats

MAX_CACHED_QUERIES = 64
"""Queries whose vectors are cached."""


class SemanticSearch:
    """Compares queries with the stored vectors."""

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
        self._mismatch_logged = False
        self._tasks: OrderedDict[str, tuple[asyncio.Task[Floats | None], float]] = OrderedDict()

    async def nearest(
        self, corpus: str, text: str, scope: str | None, limit: int
    ) -> dict[str, float]:
        """See :class:`~hookline_hookspecs.SemanticIndex`."""
        if corpus not in self._config.corpora or not text.strip():
            return {}
        try:
            matrix = await self._store.matrix(corpus)
            if matrix is None or not len(matrix):
                return {}
            vector = await self._vector(text[: self._config.max_chars])
            if vector is None:
                return {}
            self._check_size(len(vector), matrix.size)
            found = await asyncio.to_thread(matrix.nearest, vector, scope, limit)
        except HooklineError as error:
            self._host.log.warning("semantic search failed: %s", error)
            return {}
        return {key: score / self._config.threshold for key, score in found}

    def _check_size(self, size: int, stored_size: int) -> None:
        """Log once if the model changed under the same name."""
        if size != stored_size and not self._mismatch_logged:
            self._host.log.warning(
                "semantic search is off: %s has %s dimensions, the stored vectors have %s. Run "
                "`hookline semantic fill`.",
                describe_embedder(self._store.model),
                size,
                stored_size,
            )
        self._mismatch_logged = size != stored_size

    async def _vector(self, text: str) -> Floats | None:
        """A query's vector; None if it does not arrive in time."""
        key = digest(text)
        task, until = self._tasks.get(key, (None, 0.0))
        if task is None or (task.done() and (task.cancelled() or task.result() is None)):
            if self._breaker.open:
                return None
            until = monotonic() + self._config.patience
            task = self._host.spawn(self._embed(text), "query")
            self._tasks[key] = (task, until)
            if len(self._tasks) > MAX_CACHED_QUERIES:
                self._tasks.popitem(last=False)
        await asyncio.wait({task}, timeout=max(0.0, until - monotonic()))
        if not task.done():
            self._breaker.failed(f"no vector of a query within {self._config.patience:g} s")
            return None
        return None if task.cancelled() else task.result()

    async def _embed(self, text: str) -> Floats | None:
        """Request a query's vector; the text passes ``pre_learn`` first."""
        from .matrix import unit

        try:
            passed = await self._host.learn(text, "semantic", "embedding", origins=())
            vectors = await self._embedder.embed([passed], "query")
        except EmbeddingFailed as error:
            if self._breaker.failed(str(error)):
                self._host.log.warning("searching by words only for now: %s", error)
            return None
        except HooklineError:
            return None  # refused by pre_learn
        self._breaker.succeeded()
        return unit(vectors[0])
