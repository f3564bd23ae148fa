"""How similar two skills are, to find duplicates: compares names, descriptions and bodies.

The similarity of two texts is the cosine of their term weights, where a word and its inflections
are one term and rare words weigh more (vector space model: Salton, Wong and Yang, 1975). The
similarity of two skills is a weighted mean of the three; the weights were fitted on the labelled
pairs of the tests (``tests/data/similarity.yaml``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .tokenizer import stem_term, tokenize

NAME_WEIGHT, DESCRIPTION_WEIGHT, BODY_WEIGHT = 0.35, 0.45, 0.2
"""The weight of each part."""
DUPLICATE_SIMILARITY = 0.5
"""From this similarity on, two skills are duplicates."""


@dataclass(frozen=True, slots=True)
class SimilarSkill:
    """A skill and its similarity to another, 0 to 1."""

    name: str
    score: float


def rank_similar(
    fields: Mapping[str, str], others: Mapping[str, Mapping[str, str]]
) -> list[SimilarSkill]:
    """Return ``others`` by their similarity to ``fields``, the most similar first.

    Args:
        fields: a skill's texts by ``name``, ``description`` and ``body``.
        others: the same for each other skill, by its name.
    """
    everything = [
        _terms(one.get(part, "")) for one in (fields, *others.values()) for part in fields
    ]
    rarity = _rarity(everything)
    found = [
        SimilarSkill(name, _similarity(fields, other, rarity)) for name, other in others.items()
    ]
    return sorted(found, key=lambda one: (-one.score, one.name))


def _similarity(
    one: Mapping[str, str], other: Mapping[str, str], rarity: Mapping[str, float]
) -> float:
    names = _terms(one["name"]), _terms(other["name"])
    if names[0] and names[0] == names[1]:
        return 1.0
    parts = ((NAME_WEIGHT, "name"), (DESCRIPTION_WEIGHT, "description"), (BODY_WEIGHT, "body"))
    score = 0.0
    for weight, part in parts:
        score += weight * _cosine(_terms(one.get(part, "")), _terms(other.get(part, "")), rarity)
    return score


def _terms(text: str) -> frozenset[str]:
    return frozenset(stem_term(word) or word for word in tokenize(text))


def _rarity(texts: Iterable[frozenset[str]]) -> dict[str, float]:
    counts: dict[str, int] = {}
    total = 0
    for found in texts:
        total += 1
        for term in found:
            counts[term] = counts.get(term, 0) + 1
    # Pretend there are more texts: in a library of two, a shared term would seem common.
    return {term: math.log(1 + (total + 60) / (count + 2)) for term, count in counts.items()}


def _cosine(one: frozenset[str], other: frozenset[str], rarity: Mapping[str, float]) -> float:
    shared = sum(rarity[term] ** 2 for term in one & other)
    if not shared:
        return 0.0
    norm = math.sqrt(sum(rarity[t] ** 2 for t in one) * sum(rarity[t] ** 2 for t in other))
    return shared / norm
