"""Finds the skills that match a text: BM25F over name, keywords, description, headings and body.

Terms of a document are weighted by where they stand and saturate as in BM25F (Robertson, Zaragoza
and Taylor, "Simple BM25 Extension to Multiple Weighted Fields", 2004). Two things differ, so that
the scores of a small library mean something: a length is compared with that of a usual field, not
with the mean, and a term's rarity is judged as if :data:`PRIOR` other documents were there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .words import stem_of, words

K1 = 1.2
"""How soon more of a term adds no more; the usual value."""
B = 0.4
"""How much a long field is held against it, 0 to 1."""
FIELDS: Mapping[str, tuple[float, float]] = {
    "name": (4.0, 3.0),
    "keywords": (3.0, 6.0),
    "description": (2.5, 20.0),
    "headings": (0.8, 12.0),
    "body": (0.35, 150.0),
}
"""By field: its weight, and how many terms it usually has."""
STEM_SHARE = 0.6
"""What a stem counts, where a whole word counts 1."""
PRIOR = 40
"""Documents that are supposed to be there besides, none of which has the term."""
QUERY_CHARS = 4_000
"""Characters of a text that are looked at: as many from its start, and half as many from its
end."""
QUERY_TERMS = 48
"""Terms of a text that are looked up, the rarest ones."""
FOCUS = 6
"""Terms that a short request has; of a longer one, a skill need not fit every word."""

NEAR_BEST = 0.5
"""The share of the best score that every other match must reach."""
ALONE, CLEAR = 0.65, 0.75
"""A best match fits from this share of the threshold, if no other has that share of its score."""


@dataclass(frozen=True, slots=True)
class Match:
    """A skill that fits: ``score`` is from 0 to 1, 1 where every word is the skill's own."""

    name: str
    score: float


class Matcher:
    """The skills' terms in memory."""

    def __init__(self) -> None:
        self._postings: dict[str, dict[str, float]] = {}
        self._terms: dict[str, tuple[str, ...]] = {}

    def __len__(self) -> int:
        return len(self._terms)

    def put(self, name: str, fields: Mapping[str, str]) -> None:
        """Add or replace a skill; ``fields`` are texts by the names of :data:`FIELDS`."""
        self.remove(name)
        weights = weigh(fields)
        for term, weight in weights.items():
            self._postings.setdefault(term, {})[name] = weight / (K1 + weight)
        self._terms[name] = tuple(weights)

    def remove(self, name: str) -> None:
        """Remove a skill, if it exists."""
        for term in self._terms.pop(name, ()):
            postings = self._postings[term]
            del postings[name]
            if not postings:
                del self._postings[term]

    def query(self, text: str, limit: int = 10) -> list[Match]:
        """Return the skills that match ``text``, best first."""
        asked = self._asked(text)
        if not asked or not self._terms:
            return []
        scores: dict[str, float] = {}
        for word, rarity in asked.items():
            for name, impact in self._impacts(word).items():
                scores[name] = scores.get(name, 0.0) + rarity * impact
        best = sorted(asked.values(), reverse=True)[:FOCUS]
        whole = sum(best)
        found = [Match(name, min(1.0, score / whole)) for name, score in scores.items()]
        return sorted(found, key=lambda match: (-match.score, match.name))[:limit]

    def _asked(self, text: str) -> dict[str, float]:
        """The words of a text that are looked up, with their rarity."""
        if len(text) > QUERY_CHARS * 3 // 2:
            text = f"{text[:QUERY_CHARS]} {text[-QUERY_CHARS // 2 :]}"
        found = {word: self._rarity(word) for word in dict.fromkeys(words(text))}
        if len(found) <= QUERY_TERMS:
            return found
        known = sorted(found, key=lambda word: (not self._known(word), -found[word]))
        return {word: found[word] for word in known[:QUERY_TERMS]}

    def _known(self, word: str) -> bool:
        return word in self._postings or (stem_of(word) or "") in self._postings

    def _rarity(self, word: str) -> float:
        """The inverse document frequency of a word, or of its stem if that is more common."""
        stem = stem_of(word)
        count = len(self._postings.get(word, ()))
        if stem is not None:
            count = max(count, len(self._postings.get(stem, ())))
        everything = len(self._terms) + PRIOR
        return math.log(1 + (everything - count + 0.5) / (count + 0.5))

    def _impacts(self, word: str) -> dict[str, float]:
        """What a word adds by skill, before its rarity."""
        exact = self._postings.get(word, {})
        stem = stem_of(word)
        if stem is None or stem not in self._postings:
            return exact
        found = {name: impact * STEM_SHARE for name, impact in self._postings[stem].items()}
        for name, impact in exact.items():
            if impact > found.get(name, 0.0):
                found[name] = impact
        return found


def least(scores: Sequence[float], threshold: float) -> float:
    """Return the score from which matches fit, of ``scores``, best first.

    Words that no skill has lower every score. Where one skill stands out, they say nothing against
    it.
    """
    if not scores:
        return threshold
    best, others = scores[0], scores[1:]
    if best < threshold and best >= threshold * ALONE and max(others, default=0.0) <= best * CLEAR:
        return best
    return max(threshold, best * NEAR_BEST)


def weigh(fields: Mapping[str, str]) -> dict[str, float]:
    """The weight of each term of a document, before it saturates."""
    weights: dict[str, float] = {}
    for field, (weight, usual) in FIELDS.items():
        found = words(fields.get(field, ""))
        if not found:
            continue
        each = weight / (1 - B + B * len(found) / usual)
        for term in _with_stems(found):
            weights[term] = weights.get(term, 0.0) + each
    return weights


def _with_stems(found: Iterable[str]) -> Iterable[str]:
    for word in found:
        yield word
        stem = stem_of(word)
        if stem is not None:
            yield stem
