"""Ranks facts: relevance × confidence × 0.5^(age / half-life), times :data:`OUTSIDE_FACTOR` for
facts from outside.

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

STEM_MATCH_WEIGHT = 0.75
"""Weight of a match of stems whose words differ."""
UNQUERIED_WEIGHT = 0.6
"""Weight of a fact's terms that the query does not have: like a word of medium rarity."""
OUTSIDE_FACTOR = 0.5
"""Factor for a fact from outside: what a person said ranks above what a page said."""
DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class RankedFact:
    """A fact and its rank.

    ``score`` is the rank, ``relevance`` the lexical match of the texts alone. ``similarity`` is
    that of their meaning (:class:`~hookline_hookspecs.SemanticIndex`), 0 without such an index.
    """

    fact: Fact
    relevance: float
    score: float
    similarity: float = 0.0

    @property
    def trusted_similarity(self) -> float:
        """The similarity, reduced for facts from outside."""
        return self.similarity * (OUTSIDE_FACTOR if is_outside(self.fact.origins) else 1.0)


@dataclass(frozen=True, slots=True)
class FactQuery:
    """The distinct terms of a query or message.

    ``weights`` are by word, 0 to 1; ``known`` is by key of the index, the number of facts with it.
    """

    terms: tuple[Term, ...]
    weights: Mapping[str, float]
    known: Mapping[str, float]

    @classmethod
    def of(cls, found: Sequence[Term]) -> FactQuery:
        """Return the query for the terms of a text."""
        return cls(tuple({term.word: term for term in found}.values()), {}, {})

    def keys(self) -> list[str]:
        """Return the words and marked stems to look up in the index."""
        return [*(t.word for t in self.terms), *(f"{STEM_MARK}{t.stem}" for t in self.terms)]

    def weighed(self, known: Mapping[str, float], total: int) -> FactQuery:
        """Return the query with weights by how many of ``total`` facts contain each key."""
        highest = math.log(1 + (total + 1) / 0.5)
        weights = {}
        for term in self.terms:
            count = max(known.get(term.word, 0), known.get(f"{STEM_MARK}{term.stem}", 0))
            rarity = math.log(1 + (total + 1) / (count + 0.5)) / highest
            weights[term.word] = rarity * term.weight
        return replace(self, weights=weights, known=known)

    def rarest(self, max_facts: float) -> list[str]:
        """Return the rarest keys, at least one, that together occur in at most ``max_facts``."""
        keys: list[str] = []
        for key, facts in sorted(self.known.items(), key=lambda item: item[1]):
            max_facts -= facts
            if keys and max_facts < 0:
                break
            keys.append(key)
        return keys

    def rank(self, fact: Fact, now: float, half_life_days: float) -> RankedFact:
        """Rank ``fact``; profile facts do not fade, and none with a half-life of 0 or less."""
        relevance = self.relevance(terms(fact.content))
        return RankedFact(fact, relevance, relevance * fact_weight(fact, now, half_life_days))

    def relevance(self, of: Sequence[Term]) -> float:
        """Return the cosine similarity of the query and a text's terms."""
        words = {term.word for term in of}
        stems = {term.stem for term in of}
        matched = length = 0.0
        hit: set[str] = set()
        for term in self.terms:
            weight = self.weights[term.word]
            length += weight * weight
            share = 0.0
            if term.word in words:
                share = 1.0
            elif term.stem in stems:
                share = STEM_MATCH_WEIGHT
            if share:
                matched += share * weight * weight
                hit.add(term.stem)
        rest = sum((UNQUERIED_WEIGHT * term.weight) ** 2 for term in of if term.stem not in hit)
        norm = math.sqrt(length * (matched + rest))
        return min(1.0, matched / norm) if norm else 0.0


def fact_weight(fact: Fact, now: float, half_life_days: float) -> float:
    """Return the weight of a fact from its confidence, age and origin."""
    weight = fact.confidence
    if fact.category != "profile" and half_life_days > 0:
        weight *= 0.5 ** (max(0.0, now - fact.created) / DAY / half_life_days)
    if is_outside(fact.origins):
        weight *= OUTSIDE_FACTOR
    return weight


def merge_rankings(
    by_words: Sequence[RankedFact],
    by_meaning: Mapping[Fact, float],
    now: float,
    half_life_days: float,
) -> list[RankedFact]:
    """Merge the facts found by words and those found by meaning (with their similarity)."""
    found = {match.fact: match for match in by_words}
    for fact, similarity in by_meaning.items():
        ranked = found.get(fact) or RankedFact(fact, 0.0, 0.0)
        found[fact] = replace(ranked, similarity=similarity)
    order = sorted(
        by_meaning,
        key=lambda fact: by_meaning[fact] * fact_weight(fact, now, half_life_days),
        reverse=True,
    )
    return [found[fact] for fact in fuse((match.fact for match in by_words), order)]
