"""Search by meaning, in addition to search by words, if a plugin provides it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar

T = TypeVar("T")


class SearchableCorpus(Protocol):
    """A plugin's texts that can be searched by meaning; added with
    ``host.services.add(SearchableCorpus, corpus)``."""

    name: str
    """What the texts are, such as ``memory``; unique among the corpora."""

    async def entries(self) -> Iterable[tuple[str, str, str]]:
        """Return the key, scope and text of every entry. A search can be limited to a scope, such
        as a chat; it is empty if the corpus has no scopes."""


class SemanticIndex(Protocol):
    """Compares texts by meaning; provided by a plugin. Without it, or if it does not answer in
    time, only words are compared."""

    async def nearest(
        self, corpus: str, text: str, *, scope: str | None = None, limit: int = 20
    ) -> dict[str, float]:
        """Return the keys of the entries most similar to ``text``, best first, with a similarity.

        0 is the similarity of unrelated texts; from 1 on, an entry is shown without being asked
        for. Only entries of ``scope`` are compared, unless it is None. Empty if nothing can be
        compared now; never raises, and never waits longer than the plugin's ``patience``.
        """

    def changed(self, corpus: str) -> None:
        """Report that entries were added or changed; they are indexed in the background."""

    async def forget(self, corpus: str, keys: Iterable[str]) -> None:
        """Erase what is stored about deleted entries. Never raises."""


def fuse(*rankings: Iterable[T], k: int = 60) -> list[T]:
    """Combine rankings by reciprocal rank fusion, best first.

    The score is the sum of ``1 / (k + rank)``, with ranks from 1 (Cormack, Clarke and Büttcher,
    "Reciprocal Rank Fusion Outperforms Condorcet and Individual Rank Learning Methods", SIGIR
    2009). Items with equal scores keep the order of the first ranking.
    """
    scores: dict[T, float] = {}
    for ranking in rankings:
        for rank, item in enumerate(ranking, 1):
            scores[item] = scores.get(item, 0.0) + 1 / (k + rank)
    return sorted(scores, key=scores.__getitem__, reverse=True)
