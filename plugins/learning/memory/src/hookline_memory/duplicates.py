"""Whether two facts are duplicates, so that a repeated fact is stored once.

To lose nothing, only two cases count: both have the same words in the same order, except for
articles and the like; or the newer fact continues the older one by a few words. Facts that differ
in a negation or a sign are never duplicates.
"""

from __future__ import annotations

import math
import re
import unicodedata

from .terms import negations, whole_words

MAX_ADDED_SHARE = 1.0
"""Words that a duplicate may add, as a share of the older fact's words."""
MIN_WORDS = 2
"""Words that the older fact must have for that."""


_NEGATIVE = re.compile(r"(?<!\S)[-−]\d[\d.,]*")


def common_words(new: str) -> str:
    """Return the first words of ``new``, which every older duplicate has."""
    words = whole_words(new)
    return " ".join(words[: math.ceil(len(words) / (1 + MAX_ADDED_SHARE))])


def _letters(fact: str) -> str:
    """The fact without case, blanks and closing punctuation, in any script."""
    folded = unicodedata.normalize("NFKC", fact).casefold()
    return "".join(folded.split()).rstrip(".!。．｡！")


def compare_facts(old: str, new: str) -> bool | None:
    """Return None if the facts differ, else whether ``new`` says more than ``old``."""
    if _letters(old) == _letters(new):
        return False
    before, after = whole_words(old), whole_words(new)
    if not before or not after:
        return False if old.casefold() == new.casefold() else None
    if _NEGATIVE.findall(old) != _NEGATIVE.findall(new):
        return None
    if negations(old) != negations(new) or after[: len(before)] != before:
        return None
    added = len(after) - len(before)
    if not added:
        return False
    if len(before) >= MIN_WORDS and added <= len(before) * MAX_ADDED_SHARE:
        return True
    return None
