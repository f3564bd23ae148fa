"""Whether a new fact contradicts a stored one, by its form; no model is asked.

Facts are about the same if they have the same subject and the same kind of verb
(``contradictions.toml``), and neither value contains the other. The older one is outdated if there
is one value at a time: a person lives in one place and has one birthday, a number that differs has
changed, and dark is not light. Otherwise both may hold, as both may if they differ only in a
negation, or in a time without a known verb.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from functools import cache

from .contradiction_data import contradiction_data
from .exclusive_values import differ_in_values
from .terms import fold, negations, split_words, stem, whole_words

FIRST_UNSPACED = "\u2e80"
"""The first character of the scripts without blanks between words that have phrases in the file."""


class Contradiction(Enum):
    """What a new fact says about a stored one."""

    OUTDATED = "outdated"
    """It no longer holds."""
    DOUBTFUL = "doubtful"
    """It may no longer hold."""


@dataclass(frozen=True, slots=True)
class FactForm:
    """A fact of the form SUBJECT VERB VALUE, as stems; those of the subject are sorted.

    ``single`` is true if there is one value at a time.
    """

    subject: tuple[str, ...]
    verb: str
    value: tuple[str, ...]
    single: bool


@dataclass(frozen=True, slots=True)
class _VerbPhrase:
    """A way to write a kind of verb. ``text`` is folded, with blanks around it in scripts that have
    them between words."""

    kind: str
    text: str
    single: bool


def compare_claims(old: str, new: str) -> Contradiction | None:
    """Return how ``new`` contradicts ``old``; None if it does not."""
    if _negations(old) != _negations(new):
        return Contradiction.DOUBTFUL if _positive(old) == _positive(new) else None
    if _negations(new):
        return None
    before, after = fact_form(old), fact_form(new)
    if kinds := differ_in_values(old, new):
        return _exclusive(kinds, before, after)
    if before is None or after is None:
        return None
    if (before.subject, before.verb) != (after.subject, after.verb):
        return None
    values = set(before.value), set(after.value)
    if values[0] <= values[1] or values[1] <= values[0]:
        return None
    if after.single or _differ_in_numbers(before.value, after.value):
        return Contradiction.OUTDATED
    return Contradiction.DOUBTFUL


def _exclusive(
    kinds: set[str], before: FactForm | None, after: FactForm | None
) -> Contradiction | None:
    """Return what a fact says about one that differs only in values of which there is one.

    Without a verb that is known, both may have happened: "Ana called at 10:00".
    """
    if before is None or after is None:
        return Contradiction.DOUBTFUL
    if before.verb != after.verb:
        return None
    may_repeat = kinds == {"weekday"} and not after.single  # on Mondays and on Tuesdays
    return Contradiction.DOUBTFUL if may_repeat else Contradiction.OUTDATED


def fact_form(fact: str) -> FactForm | None:
    """Return the form of a fact by the first verb in it that is known; None if it has none."""
    line = f" {' '.join(split_words(fact))} "
    places = [(at, phrase) for phrase in _verb_phrases() if (at := line.find(phrase.text)) >= 0]
    if not places:
        return None
    at, phrase = min(places, key=lambda place: (place[0], -len(place[1].text)))
    subject, value = whole_words(line[:at]), whole_words(line[at + len(phrase.text) :])
    if not value:
        return None
    single = phrase.single or not _attributes().isdisjoint(subject)
    return FactForm(tuple(sorted(map(stem, subject))), phrase.kind, _stems(value), single)


def _differ_in_numbers(old: tuple[str, ...], new: tuple[str, ...]) -> bool:
    """True if the values differ in words with digits only."""
    if len(old) != len(new):
        return False
    different = [word for pair in zip(old, new, strict=True) if pair[0] != pair[1] for word in pair]
    return all(any(char.isdigit() for char in word) for word in different)


def _negations(fact: str) -> list[str]:
    """The words that negate a fact: in Portuguese, `mora no Porto` says where someone lives."""
    text = f" {' '.join(fact.casefold().split())} "
    for phrase in _verb_phrases():
        text = text.replace(phrase.text, " ") if " no " in phrase.text else text
    return negations(text)


def _positive(fact: str) -> tuple[str, ...]:
    """The stems of a fact without what negates it."""
    text = re.sub(r"n['’]t\b", "", fact.casefold())
    for negation in set(negations(text)):
        edge = r"\b" if negation[0] < FIRST_UNSPACED else ""
        text = re.sub(f"{edge}{re.escape(negation)}{edge}", "", text)
    return _stems(word for word in whole_words(text) if word not in _auxiliaries())


def _stems(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(map(stem, words))


@cache
def _verb_phrases() -> tuple[_VerbPhrase, ...]:
    return tuple(
        _VerbPhrase(kind, text if text[0] >= FIRST_UNSPACED else f" {text} ", single)
        for table, single in (("single", True), ("several", False))
        for kind, phrases in contradiction_data()[table].items()
        for text in (" ".join(split_words(phrase)) for phrase in phrases.split(","))
    )


@cache
def _attributes() -> frozenset[str]:
    return frozenset(fold(contradiction_data()["attributes"]).split())


@cache
def _auxiliaries() -> frozenset[str]:
    return frozenset(fold(contradiction_data()["auxiliaries"]).split())
