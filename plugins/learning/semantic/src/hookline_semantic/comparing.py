"""Answers who asks what a text is like, in time or not at all."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from time import monotonic
from typing import TYPE_CHECKING

from hookline_hookspecs import HooklineError, Host

from .breaker import Breaker
from .config import SemanticConfig
from .embedders import Embedder, Failed, called
from .kept import Kept, digest

if TYPE_CHECKING:
    from .matrix import Floats

QUESTIONS = 64
"""Questions whose vectors are kept in memory."""


class Comparing:
    """Compares questions with what is kept."""

    def __init__(
        self, host: Host, config: SemanticConfig, embedder: Embedder, kept: Kept, breaker: Breaker
    ) -> None:
        self._host = host
        self._config = config
        self._embedder = embedder
        self._kept = kept
        self._breaker = breaker
        self._told = False
        self._asked: OrderedDict[str, tuple[asyncio.Task[Floats | None], float]] = OrderedDict()

    async def nearest(
        self, corpus: str, text: str, scope: str | None, limit: int
    ) -> dict[str, float]:
        """See :class:`~hookline_hookspecs.SemanticIndex`."""
        if corpus not in self._config.corpora or not text.strip():
            return {}
        try:
            matrix = await self._kept.matrix(corpus)
            if matrix is None or not len(matrix):
                return {}
            vector = await self._vector(text[: self._config.max_chars])
            if vector is None:
                return {}
            self._fits(len(vector), matrix.size)
            found = await asyncio.to_thread(matrix.nearest, vector, scope, limit)
        except HooklineError as error:
            self._host.log.warning("nothing is compared by meaning: %s", error)
            return {}
        return {key: score / self._config.threshold for key, score in found}

    def _fits(self, size: int, kept: int) -> None:
        """Say it once if the model has changed under its name."""
        if size != kept and not self._told:
            self._host.log.warning(
                "nothing is compared by meaning: %s has %s dimensions, the vectors that are kept "
                "have %s; run: hookline semantic fill",
                called(self._kept.model),
                size,
                kept,
            )
        self._told = size != kept

    async def _vector(self, text: str) -> Floats | None:
        """A question's vector; None if it does not come in time."""
        key = digest(text)
        task, until = self._asked.get(key, (None, 0.0))
        if task is None or (task.done() and (task.cancelled() or task.result() is None)):
            if self._breaker.open:
                return None
            until = monotonic() + self._config.patience
            task = self._host.spawn(self._embedded(text), "question")
            self._asked[key] = (task, until)
            if len(self._asked) > QUESTIONS:
                self._asked.popitem(last=False)
        await asyncio.wait({task}, timeout=max(0.0, until - monotonic()))
        if not task.done():
            self._breaker.failed(f"no vector of a question within {self._config.patience:g} s")
            return None
        return None if task.cancelled() else task.result()

    async def _embedded(self, text: str) -> Floats | None:
        """Ask for a vector; what the guards hide is not sent."""
        from .matrix import unit

        try:
            passed = await self._host.learn(text, "semantic", "embedding", origins=())
            made = await self._embedder.embed([passed], "query")
        except Failed as error:
            if self._breaker.failed(str(error)):
                self._host.log.warning("words alone decide for now: %s", error)
            return None
        except HooklineError:
            return None  # the guards refuse the text
        self._breaker.succeeded()
        return unit(made[0])
