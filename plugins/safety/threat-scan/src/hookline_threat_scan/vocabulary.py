"""The vocabulary: the phrases of the files in ``languages``, and where they occur in a text.

A file lists phrases by concept; a ``*`` at the end stands for any ending. A file with ``anywhere``
is for scripts without spaces, or languages that attach endings: there a phrase matches at any
position, ``_`` at its start or end marks the edge of a word, and ``negated`` lists what only looks
like ``dismiss`` or ``send``. All files form one vocabulary, so mixed languages are found too.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from ahocorasick_rs import AhoCorasick

from .data_files import expression, load_languages, load_yaml
from .normalization import fold

WORD = expression("word")
_PLAIN = re.compile(r"([a-z]+(?: [a-z]+)*)\*?")


class ConceptMatch(NamedTuple):
    """A concept that occurs from ``start`` to ``end``."""

    start: int
    end: int
    concept: str


@dataclass(slots=True)
class ScannedSentence:
    """A sentence and the concepts in it; each list is in order."""

    text: str
    start: int
    end: int
    concepts: dict[str, list[ConceptMatch]] = field(default_factory=dict)

    def of(self, concepts: Sequence[str]) -> list[ConceptMatch]:
        """The matches of some concepts."""
        return [event for concept in concepts for event in self.concepts.get(concept, ())]

    def gaps(self, concept: str, index: int, near: int) -> list[str]:
        """The texts between the matches of a concept and an index at most ``near`` after them."""
        events = self.concepts.get(concept, ())
        return [self.text[e.end : index] for e in events if index - near < e.end <= index]

    def nearest(
        self, concepts: Sequence[str], anchor: ConceptMatch, near: int
    ) -> ConceptMatch | None:
        """The match nearest to another one, at most ``near`` characters away."""
        best, distance = None, near + 1
        for concept in concepts:
            events = self.concepts.get(concept, ())
            at = bisect_left(events, anchor)
            for event in events[max(0, at - 2) : at + 2]:
                gap = max(anchor.start - event.end, event.start - anchor.end)
                if 0 <= gap < distance:
                    best, distance = event, gap
        return best


class Vocabulary:
    """All phrases as one automaton over words separated by spaces."""

    def __init__(self) -> None:
        concepts: dict[str, set[str]] = {}
        for data in load_languages():
            for concept, phrases in data.items():
                for phrase in phrases if concept != "anywhere" else ():
                    for key in _keys(phrase, "anywhere" in data):
                        concepts.setdefault(key, set()).add(concept)
        self._keys = list(concepts)
        self._concepts = list(concepts.values())
        self._automaton = AhoCorasick(self._keys)
        grammar_words = re.findall(r"[a-z]{3,}", str(load_yaml("grammar.yaml")))
        self.words = frozenset(grammar_words).union(*(key.split() for key in concepts))

    def knows(self, word: str) -> bool:
        """Whether a word is in a phrase, or begins like one with ``*``."""
        return word in self.words or bool(self._find_matches(f" {word} "))

    def concepts(self, part: str) -> set[str]:
        """The concepts in a short text."""
        folded = fold(part)
        return {event.concept for event in self.find(folded, 0, len(folded))}

    def find(self, text: str, start: int, end: int) -> Iterator[ConceptMatch]:
        """Find the phrases in a range of a folded text."""
        words = list(WORD.finditer(text, start, end))
        line = " ".join(["", *(word[0] for word in words), ""])
        found = self._find_matches(line)
        if not found:
            return
        indexes = [start, *(at for word in words for at in range(word.start(), word.end() + 1))]
        negated = (span for number, *span in found if "negated" in self._concepts[number])
        harmless = {at for span in negated for at in range(*span)}
        for number, first, last in found:
            if line[first] == " ":
                first, last = first + 1, line.find(" ", last - 1)
            else:
                last -= line[last - 1] == " "
            for concept in self._concepts[number]:
                if concept not in ("dismiss", "send") or first not in harmless:
                    yield ConceptMatch(indexes[first], indexes[last - 1] + 1, concept)

    def _find_matches(self, line: str) -> list[tuple[int, int, int]]:
        return self._automaton.find_matches_as_indexes(line, overlapping=True)


def _keys(phrase: str, anywhere: bool) -> list[str]:
    """The keys of a phrase in the automaton, in which spaces mark the ends of words."""
    plain = _PLAIN.fullmatch(phrase)  # most phrases; folding would not change them
    words = plain[1] if plain else " ".join(WORD.findall(fold(phrase)))
    if not anywhere or phrase.isascii():
        return [f" {words}" if phrase.endswith("*") else f" {words} "]
    front, back = " " * phrase.startswith("_"), " " * phrase.endswith("_")
    return [front + words + back, front + words.replace(" ", "") + back]


@cache
def vocabulary() -> Vocabulary:
    """The vocabulary of all files."""
    return Vocabulary()
