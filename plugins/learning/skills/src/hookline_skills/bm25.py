"""BM25F index of the skills over name, keywords, description, headings and body.

Terms are weighted by field and saturate as in BM25F (Robertson, Zaragoza and Taylor, "Simple BM25
Extension to Multiple Weighted Fields", 2004). Two changes keep the scores of a small library
comparable: a field's length is compared with the usual length, not with the mean, and a term's
rarity is computed as if there were :data:`PRIOR_DOCUMENTS` more documents.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .tokenizer import stem_term, tokenize

K1 = 1.2
"""BM25's saturation of repeated terms; the usual value."""
B = 0.4
"""BM25's length normalization, 0 to 1."""
FIELD_WEIGHTS: Mapping[str, tuple[float, float]] = {
    "name": (4.0, 3.0),
    "keywords": (3.0, 6.0),
    "description": (2.5, 20.0),
    "headings": (0.8, 12.0),
    "body": (0.35, 150.0),
}
"""By field: its weight, and its usual number of terms."""
STEM_WEIGHT = 0.6
"""Weight of a stem; a whole word weighs 1."""
PRIOR_DOCUMENTS = 40
"""Imaginary documents without the term, added when its rarity is computed."""
MAX_QUERY_CHARS = 4_000
"""Characters of a query that are used from its start, and half as many from its end."""
MAX_QUERY_TERMS = 48
"""Terms of a query that are looked up, the rarest ones."""
MAX_SCORED_TERMS = 6
"""A score is relative to this many of the query's rarest terms: a skill need not contain every
word of a long message."""


@dataclass(frozen=True, slots=True)
class TermMatch:
    """A skill found by the index; ``score`` is 0 to 1, 1 if the skill's name has every word."""

    name: str
    score: float


class TermIndex:
    """The skills' terms in memory."""

    def __init__(self) -> None:
        self._postings: dict[str, dict[str, float]] = {}
        self._terms: dict[str, tuple[str, ...]] = {}

    def __len__(self) -> int:
        return len(self._terms)

    def add(self, name: str, fields: Mapping[str, str]) -> None:
        """Add or replace a skill; ``fields`` are texts by the names of :data:`FIELD_WEIGHTS`."""
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

    def search(self, text: str, limit: int = 10) -> list[TermMatch]:
        """Return the skills that match ``text``, best first."""
        rarities = self._query_terms(text)
        if not rarities or not self._terms:
            return []
        scores: dict[str, float] = {}
        for word, rarity in rarities.items():
            for name, impact in self._impacts(word).items():
                scores[name] = scores.get(name, 0.0) + rarity * impact
        best = sorted(rarities.values(), reverse=True)[:MAX_SCORED_TERMS]
        whole = sum(best)
        found = [TermMatch(name, min(1.0, score / whole)) for name, score in scores.items()]
        return sorted(found, key=lambda match: (-match.score, match.name))[:limit]

    def _query_terms(self, text: str) -> dict[str, float]:
        """The words of a text to look up, with their rarity."""
        if len(text) > MAX_QUERY_CHARS * 3 // 2:
            text = f"{text[:MAX_QUERY_CHARS]} {text[-MAX_QUERY_CHARS // 2 :]}"
        found = {word: self._rarity(word) for word in dict.fromkeys(tokenize(text))}
        if len(found) <= MAX_QUERY_TERMS:
            return found
        known = sorted(found, key=lambda word: (not self._known(word), -found[word]))
        return {word: found[word] for word in known[:MAX_QUERY_TERMS]}

    def _known(self, word: str) -> bool:
        return word in self._postings or (stem_term(word) or "") in self._postings

    def _rarity(self, word: str) -> float:
        """The inverse document frequency of a word, or of its stem if that is more common."""
        stem = stem_term(word)
        count = len(self._postings.get(word, ()))
        if stem is not None:
            count = max(count, len(self._postings.get(stem, ())))
        everything = len(self._terms) + PRIOR_DOCUMENTS
        return math.log(1 + (everything - count + 0.5) / (count + 0.5))

    def _impacts(self, word: str) -> dict[str, float]:
        """What a word adds to the score of each skill, before its rarity."""
        exact = self._postings.get(word, {})
        stem = stem_term(word)
        if stem is None or stem not in self._postings:
            return exact
        found = {name: impact * STEM_WEIGHT for name, impact in self._postings[stem].items()}
        for name, impact in exact.items():
            if impact > found.get(name, 0.0):
                found[name] = impact
        return found


def weigh(fields: Mapping[str, str]) -> dict[str, float]:
    """The weight of each term of a document, before saturation."""
    weights: dict[str, float] = {}
    for field, (weight, usual) in FIELD_WEIGHTS.items():
        found = tokenize(fields.get(field, ""))
        if not found:
            continue
        each = weight / (1 - B + B * len(found) / usual)
        for term in _with_stems(found):
            weights[term] = weights.get(term, 0.0) + each
    return weights


def _with_stems(found: Iterable[str]) -> Iterable[str]:
    for word in found:
        yield word
        stem = stem_term(word)
        if stem is not None:
            yield stem
