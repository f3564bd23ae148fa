"""Ranks facts: relevance × confidence × 0.5^(age / half-life), times :data:`FROM_OUTSIDE` for what
came from outside.

Relevance is the cosine of the two texts' terms, weighed by inverse document frequency (Salton and
Buckley, "Term-weighting approaches in automatic text retrieval", 1988): from 0 to 1, so that one
threshold fits short and long messages, few facts and many.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from hookline_hookspecs import fuse
from hookline_hookspecs.stored_origins import is_outside

from .fact import Fact
from .terms import STEM_MARK, Term, terms

STEM_ONLY = 0.75
"""The weight of a match of stems whose words differ."""
UNKNOWN = 0.6
"""The weight of a fact's terms that were not asked for: that of a word neither rare nor common."""
FROM_OUTSIDE = 0.5
"""The factor for a fact that came from outside: what a person said ranks above what a page said."""
DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Ranking:
    """A fact and its rank: ``score`` decides, ``relevance`` is that of the texts alone.

    ``likeness`` is that of their meaning (:class:`~hookline_hookspecs.SemanticIndex`), 0 where
    nothing compares it."""

    fact: Fact
    relevance: float
    score: float
    likeness: float = 0.0

    @property
    def trusted_likeness(self) -> float:
        """The likeness, less for what came from outside."""
        return self.likeness * (FROM_OUTSIDE if is_outside(self.fact.origins) else 1.0)


@dataclass(frozen=True, slots=True)
class Query:
    """A query or message as its distinct terms. ``weights`` are by word, from 0 to 1."""

    terms: tuple[Term, ...]
    weights: Mapping[str, float]
    known: Mapping[str, float]

    @classmethod
    def of(cls, found: Sequence[Term]) -> Query:
        """A query of the terms of a text."""
        return cls(tuple({term.word: term for term in found}.values()), {}, {})

    def keys(self) -> list[str]:
        """Return the words and marked stems to look up in the index."""
        return [*(t.word for t in self.terms), *(f"{STEM_MARK}{t.stem}" for t in self.terms)]

    def weighed(self, known: Mapping[str, float], total: int) -> Query:
        """Return the query with weights by how many of ``total`` facts contain each key."""
        highest = math.log(1 + (total + 1) / 0.5)
        weights = {}
        for term in self.terms:
            stands = max(known.get(term.word, 0), known.get(f"{STEM_MARK}{term.stem}", 0))
            rarity = math.log(1 + (total + 1) / (stands + 0.5)) / highest
            weights[term.word] = rarity * term.weight
        return replace(self, weights=weights, known=known)

    def rarest(self, most: float) -> list[str]:
        """The rarest of the keys that the index knows, at least one; together they stand in at
        most so many facts."""
        keys: list[str] = []
        for key, facts in sorted(self.known.items(), key=lambda item: item[1]):
            most -= facts
            if keys and most < 0:
                break
            keys.append(key)
        return keys

    def rank(self, fact: Fact, now: float, half_life_days: float) -> Ranking:
        """Rank ``fact``; profile facts do not fade, and none do with a half-life ≤ 0."""
        relevance = self.relevance(terms(fact.content))
        return Ranking(fact, relevance, relevance * standing(fact, now, half_life_days))

    def relevance(self, of: Sequence[Term]) -> float:
        """The cosine of the angle between the query and a text's terms."""
        words = {term.word for term in of}
        stems = {term.stem for term in of}
        matched = length = 0.0
        hit: set[str] = set()
        for term in self.terms:
            weight = self.weights[term.word]
            length += weight * weight
            share = 1.0 if term.word in words else STEM_ONLY if term.stem in stems else 0.0
            if share:
                matched += share * weight * weight
                hit.add(term.stem)
        rest = sum((UNKNOWN * term.weight) ** 2 for term in of if term.stem not in hit)
        norm = math.sqrt(length * (matched + rest))
        return min(1.0, matched / norm) if norm else 0.0


def standing(fact: Fact, now: float, half_life_days: float) -> float:
    """What a fact counts whatever it says: how sure, how old and from whom it is."""
    share = fact.confidence
    if fact.category != "profile" and half_life_days > 0:
        share *= 0.5 ** (max(0.0, now - fact.created) / DAY / half_life_days)
    if is_outside(fact.origins):
        share *= FROM_OUTSIDE
    return share


def joined(
    by_words: Sequence[Ranking], alike: Mapping[Fact, float], now: float, half_life_days: float
) -> list[Ranking]:
    """One ranking of those by words and by likeness, each with what is known of both."""
    found = {one.fact: one for one in by_words}
    for fact, likeness in alike.items():
        known = found.get(fact) or Ranking(fact, 0.0, 0.0)
        found[fact] = replace(known, likeness=likeness)
    meant = sorted(
        alike, key=lambda fact: alike[fact] * standing(fact, now, half_life_days), reverse=True
    )
    return [found[fact] for fact in fuse((one.fact for one in by_words), meant)]
