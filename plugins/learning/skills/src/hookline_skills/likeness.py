"""Whether a skill says again what another one says: names, descriptions and bodies compared.

The likeness of two texts is the cosine of their terms' weights, a word and its inflections being
one term, rare words weighing more, as in the vector space model (Salton, Wong and Yang, 1975).
Likeness of two skills is a mean of the three, weighted as measured on the labelled pairs of the
tests (``tests/data/likeness.yaml``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .words import stem_of, words

NAME, DESCRIPTION, BODY = 0.35, 0.45, 0.2
"""What each part weighs."""
ALIKE = 0.5
"""From this likeness on, one of two skills is too many."""


@dataclass(frozen=True, slots=True)
class Likeness:
    """The skill that is most alike, and how much, 0 to 1."""

    name: str
    degree: float


def nearest(fields: Mapping[str, str], others: Mapping[str, Mapping[str, str]]) -> list[Likeness]:
    """The others by their likeness to ``fields``, the most alike first.

    Args:
        fields: texts by ``name``, ``description`` and ``body``.
        others: the same of each other skill.
    """
    everything = [
        _terms(one.get(part, "")) for one in (fields, *others.values()) for part in fields
    ]
    rarity = _rarity(everything)
    found = [Likeness(name, _degree(fields, other, rarity)) for name, other in others.items()]
    return sorted(found, key=lambda one: (-one.degree, one.name))


def _degree(one: Mapping[str, str], other: Mapping[str, str], rarity: Mapping[str, float]) -> float:
    names = _terms(one["name"]), _terms(other["name"])
    if names[0] and names[0] == names[1]:
        return 1.0
    parts = ((NAME, "name"), (DESCRIPTION, "description"), (BODY, "body"))
    degree = 0.0
    for weight, part in parts:
        degree += weight * _cosine(_terms(one.get(part, "")), _terms(other.get(part, "")), rarity)
    return degree


def _terms(text: str) -> frozenset[str]:
    return frozenset(stem_of(word) or word for word in words(text))


def _rarity(texts: Iterable[frozenset[str]]) -> dict[str, float]:
    counts: dict[str, int] = {}
    total = 0
    for found in texts:
        total += 1
        for term in found:
            counts[term] = counts.get(term, 0) + 1
    # As if there were more texts, so that what two skills of a library of two share is not common.
    return {term: math.log(1 + (total + 60) / (count + 2)) for term, count in counts.items()}


def _cosine(one: frozenset[str], other: frozenset[str], rarity: Mapping[str, float]) -> float:
    shared = sum(rarity[term] ** 2 for term in one & other)
    if not shared:
        return 0.0
    norm = math.sqrt(sum(rarity[t] ** 2 for t in one) * sum(rarity[t] ** 2 for t in other))
    return shared / norm
