"""A second ranking beside the lexical one: what a text is like in meaning, if a plugin can tell."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar

T = TypeVar("T")


class SearchableCorpus(Protocol):
    """Texts of a plugin that may be found by their meaning. Added as a service:
    ``host.services.add(SearchableCorpus, corpus)``."""

    name: str
    """What the texts are, such as ``memory``; no two corpora have the same."""

    async def entries(self) -> Iterable[tuple[str, str, str]]:
        """Return the key, the scope and the text of every entry. A scope is what a search may be
        confined to, such as a chat; empty where that means nothing."""


class SemanticIndex(Protocol):
    """Compares texts by meaning; offered by a plugin. Without one, and whenever it cannot tell in
    time, only words are compared."""

    async def nearest(
        self, corpus: str, text: str, *, scope: str | None = None, limit: int = 20
    ) -> dict[str, float]:
        """Return the keys of the entries that are most like ``text``, best first, each with its
        likeness: 0 is that of any two texts, 1 is enough to show the entry unasked.

        Only entries of ``scope``, unless it is None. Empty if nothing can be compared now; never
        raises, and never waits for longer than the plugin's ``patience``.
        """

    def changed(self, corpus: str) -> None:
        """Say that entries were added or changed; they are looked at in the background."""

    async def forget(self, corpus: str, keys: Iterable[str]) -> None:
        """Erase what is kept of these entries; say so when they are erased. Never raises."""


def fuse(*rankings: Iterable[T], k: int = 60) -> list[T]:
    """Return what is in any of the rankings, best first, by reciprocal rank fusion: the sum of
    ``1 / (k + rank)``, ranks from 1 (Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion
    Outperforms Condorcet and Individual Rank Learning Methods", SIGIR 2009). Among equals, the
    first ranking decides."""
    scores: dict[T, float] = {}
    for ranking in rankings:
        for rank, one in enumerate(ranking, 1):
            scores[one] = scores.get(one, 0.0) + 1 / (k + rank)
    return sorted(scores, key=scores.__getitem__, reverse=True)
