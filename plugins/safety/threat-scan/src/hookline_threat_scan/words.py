"""The words of the files in ``languages``, and where in a text they stand.

A file lists, by concept, words and phrases as people write them; a ``*`` at the end stands for any
ending. A file with ``anywhere`` is of scripts without blanks or with endings that stick: there a
phrase is looked for at any place, ``_`` at its start or end is that of a word, and ``negated``
lists what only looks like ``dismiss`` or ``send``. All files together are one vocabulary, so that
mixed languages are read as well.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from ahocorasick_rs import AhoCorasick

from .data import expression, languages, load
from .folding import fold

WORD = expression("word")
_PLAIN = re.compile(r"([a-z]+(?: [a-z]+)*)\*?")


class Event(NamedTuple):
    """A concept from ``start`` to ``end``."""

    start: int
    end: int
    concept: str


@dataclass(slots=True)
class Sentence:
    """The events of a sentence by concept, each list in order."""

    text: str
    start: int
    end: int
    events: dict[str, list[Event]] = field(default_factory=dict)

    def of(self, concepts: Sequence[str]) -> list[Event]:
        """The events of some concepts."""
        return [event for concept in concepts for event in self.events.get(concept, ())]

    def gaps(self, concept: str, place: int, near: int) -> list[str]:
        """What stands between the events of a concept and a place close behind them."""
        events = self.events.get(concept, ())
        return [self.text[e.end : place] for e in events if place - near < e.end <= place]

    def nearest(self, concepts: Sequence[str], anchor: Event, near: int) -> Event | None:
        """The event nearest to another one, at most so many characters away."""
        best, distance = None, near + 1
        for concept in concepts:
            events = self.events.get(concept, ())
            at = bisect_left(events, anchor)
            for event in events[max(0, at - 2) : at + 2]:
                gap = max(anchor.start - event.end, event.start - anchor.end)
                if 0 <= gap < distance:
                    best, distance = event, gap
        return best


class Vocabulary:
    """All phrases as one automaton over words with a blank between them."""

    def __init__(self) -> None:
        found: dict[str, set[str]] = {}
        for data in languages():
            for concept, phrases in data.items():
                for phrase in phrases if concept != "anywhere" else ():
                    for key in _keys(phrase, "anywhere" in data):
                        found.setdefault(key, set()).add(concept)
        self._keys, self._concepts = list(found), list(found.values())
        self._automaton = AhoCorasick(self._keys)
        named = re.findall(r"[a-z]{3,}", str(load("grammar.yaml")))
        self.words = frozenset(named).union(*(key.split() for key in found))

    def knows(self, word: str) -> bool:
        """True for a word of the phrases, or one that begins like one."""
        return word in self.words or bool(self._matches(f" {word} "))

    def concepts(self, part: str) -> set[str]:
        """The concepts of a short text."""
        folded = fold(part)
        return {event.concept for event in self.events(folded, 0, len(folded))}

    def events(self, text: str, start: int, end: int) -> Iterator[Event]:
        """Where the phrases stand in a part of a folded text."""
        words = list(WORD.finditer(text, start, end))
        line = " ".join(["", *(word[0] for word in words), ""])
        found = self._matches(line)
        if not found:
            return
        places = [start, *(at for word in words for at in range(word.start(), word.end() + 1))]
        negated = (span for number, *span in found if "negated" in self._concepts[number])
        harmless = {at for span in negated for at in range(*span)}
        for number, first, last in found:
            last = (
                line.find(" ", last - 1) if line[first] == " " else last - (line[last - 1] == " ")
            )
            first += line[first] == " "
            for concept in self._concepts[number]:
                if concept not in ("dismiss", "send") or first not in harmless:
                    yield Event(places[first], places[last - 1] + 1, concept)

    def _matches(self, line: str) -> list[tuple[int, int, int]]:
        return self._automaton.find_matches_as_indexes(line, overlapping=True)


def _keys(phrase: str, anywhere: bool) -> list[str]:
    """A phrase as it stands in the automaton: blanks are the ends of words."""
    plain = _PLAIN.fullmatch(phrase)  # most are, and folding would leave them as they are
    words = plain[1] if plain else " ".join(WORD.findall(fold(phrase)))
    if not anywhere or phrase.isascii():
        return [f" {words}" if phrase.endswith("*") else f" {words} "]
    front, back = " " * phrase.startswith("_"), " " * phrase.endswith("_")
    return [front + words + back, front + words.replace(" ", "") + back]


@cache
def vocabulary() -> Vocabulary:
    """The vocabulary of all files."""
    return Vocabulary()
