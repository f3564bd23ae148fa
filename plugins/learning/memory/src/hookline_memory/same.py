"""Decides whether two facts say the same, so that a repeated fact is stored once.

Merging must lose nothing, so only two cases count: both have the same words in the same order,
except for articles and the like; or the newer one continues the older one by a few words. Facts
that differ in a negation are never merged.
"""

from __future__ import annotations

import math

from .terms import negations, whole_words

MOST_ADDED = 1.0
"""Words that a newer fact may add, as a share of the older one's, to count as the same."""
FEWEST = 2
"""Words that the older one must have for that."""


def shared(new: str) -> str:
    """The words at the beginning of ``new`` that every older fact has that says the same."""
    words = whole_words(new)
    return " ".join(words[: math.ceil(len(words) / (1 + MOST_ADDED))])


def same(old: str, new: str) -> bool | None:
    """Return None if they say different things, else whether ``new`` says more than ``old``."""
    before, after = whole_words(old), whole_words(new)
    if not before or not after:
        return False if old.casefold() == new.casefold() else None
    if negations(old) != negations(new) or after[: len(before)] != before:
        return None
    added = len(after) - len(before)
    if not added:
        return False
    return True if len(before) >= FEWEST and added <= len(before) * MOST_ADDED else None
