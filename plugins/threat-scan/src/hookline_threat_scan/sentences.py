"""Where in a text concepts of the vocabulary stand, sentence by sentence."""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from .restoring import Restored
from .vocabulary import SCRIPTS, WORD, Pattern, Term, Vocabulary, matches, scripts_of

LONGEST, STEP = 1_500, 1_000
"""Characters of a sentence that is read as one, and from one part of a longer one to the next."""
_CLOSE = r"[\"'”’»)\]*_`]{0,3}"
_STOP = re.compile(
    rf"[.!?…]{{1,5}}{_CLOSE}(?=\s{{1,9}}[^a-z\s]|\s{{0,9}}\Z)|[.!?…]{{1,5}}{_CLOSE}(?=[ \t]{{0,9"
    rf"}}\n)"
    r"|[。！？؟۔।॥]{1,3}|\n[ \t>]{0,20}\n|\n[ \t]{0,20}(?:[-*+•]|\d{1,3}[.)]|#{1,6}|\||>)[ \t]"
)
_HAN = f"[{SCRIPTS['han']}{SCRIPTS['kana']}{SCRIPTS['thai']}]"
_HAN_GAP = re.compile(rf"(?<={_HAN})[ \t\n·•.\-_*~|/]{{1,3}}(?={_HAN})")
_IDEOGRAPHS = re.compile(f"[{''.join(SCRIPTS.values())}]")
_ADDRESS = re.compile(
    r"(?:https?|ftps?|wss?)://[^\s<>\"'`)\]]{3,300}|\[redacted:email\]"
    r"|\bwww\.[a-z0-9-]{1,60}\.[a-z]{2,20}|[\w.+-]{1,64}@[a-z0-9-]{1,60}\.[a-z.]{2,30}"
    r"|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{2,5})?\b"
    r"|\b[a-z0-9-]{2,40}\.(?:com|net|org|io|ru|cn|xyz|site|top|tk|cc|biz|evil)\b(?!\()"
)
_OWN = re.compile(
    r"localhost|127\.\d|0\.0\.0\.0|192\.168\.|\b10\.\d|172\.(?:1[6-9]|2\d|3[01])\.|\bw3\.org"
)


@dataclass(frozen=True, slots=True)
class Event:
    """A concept from ``start`` to ``end``."""

    start: int
    end: int
    concept: str


@dataclass(slots=True)
class Sentence:
    """The events of one sentence, by concept."""

    start: int
    end: int
    events: dict[str, list[Event]] = field(default_factory=dict)

    def of(self, *concepts: str) -> list[Event]:
        """The events of some concepts."""
        return [event for concept in concepts for event in self.events.get(concept, ())]


class Reading:
    """A text whose words were put back, and the events in it."""

    def __init__(self, restored: Restored, vocabulary: Vocabulary) -> None:
        self.text = restored.text
        self.disguised = restored.disguised
        self._vocabulary = vocabulary

    def sentences(self) -> Iterator[Sentence]:
        """Sentences that hold at least one event, in order."""
        events = [*self._words(), *self._patterns()]
        if not events:
            return
        events += self._addresses()
        events.sort(key=lambda event: event.start)
        starts = self._starts()
        current = Sentence(0, -1)
        for event in events:
            if event.start >= current.end:
                if current.end > 0:
                    yield from _short(current)
                number = bisect_right(starts, event.start) - 1
                end = starts[number + 1] if number + 1 < len(starts) else len(self.text)
                current = Sentence(starts[number], end)
            current.events.setdefault(event.concept, []).append(event)
        yield from _short(current)

    def concepts(self, part: str) -> set[str]:
        """The concepts of a short text."""
        words = list(WORD.finditer(part))
        found = {term.concept for term, _, _ in _terms(words, self._vocabulary)}
        for script in scripts_of(char for char in set(part) if ord(char) > 0x58F):
            found |= {
                one.concept
                for one in self._vocabulary.patterns.get(script, ())
                if one.pattern.search(part)
            }
        return found

    def _starts(self) -> list[int]:
        """Where sentences begin. One of one or two words goes on in the next: "Ignore. All." """
        starts = [0]
        for found in _STOP.finditer(self.text):
            if self._is_sentence(starts[-1], found.start()):
                starts.append(found.end())
        return starts

    def _is_sentence(self, start: int, end: int) -> bool:
        if end - start > 60:
            return True
        part = self.text[start:end]
        return len(WORD.findall(part)) > 2 or len(_IDEOGRAPHS.findall(part)) > 6

    def _words(self) -> Iterator[Event]:
        """Terms, word by word."""
        for term, first, last in _terms(list(WORD.finditer(self.text)), self._vocabulary):
            yield Event(first, last, term.concept)

    def _patterns(self) -> Iterator[Event]:
        """Phrases of scripts without blanks, looked for on the lines that hold the script."""
        scripts = scripts_of(char for char in set(self.text) if ord(char) > 0x58F)
        seen: set[Event] = set()
        for script in scripts:
            part = _Part.of(self.text, script)
            seen.update(part.events(self._vocabulary.patterns.get(script, ())))
        yield from seen

    def _addresses(self) -> Iterator[Event]:
        for found in _ADDRESS.finditer(self.text):
            if not _OWN.search(found[0]):
                yield Event(found.start(), found.end(), "address")


def _short(sentence: Sentence) -> Iterator[Sentence]:
    """The sentence; of a long one parts that overlap, so that work stays in proportion."""
    if sentence.end - sentence.start <= LONGEST:
        yield sentence
        return
    parts: dict[int, Sentence] = {}
    for events in sentence.events.values():
        for event in events:
            number = (event.start - sentence.start) // STEP
            for one in {number, max(0, number - 1)}:
                start = sentence.start + one * STEP
                if event.end <= start + LONGEST:
                    part = parts.setdefault(
                        one, Sentence(start, min(start + LONGEST, sentence.end))
                    )
                    part.events.setdefault(event.concept, []).append(event)
    yield from (parts[number] for number in sorted(parts))


def _terms(words: list[re.Match[str]], vocabulary: Vocabulary) -> Iterator[tuple[Term, int, int]]:
    """The terms in a row of words, each with its start and end."""
    memory: dict[str, list[Term]] = {}
    texts = [found[0] for found in words]
    count = len(texts)
    for number, word in enumerate(texts):
        terms = memory.get(word)
        if terms is None:
            terms = memory[word] = vocabulary.terms(word)
        for term in terms:
            if len(term.words) == 1 or _follow(term, texts, number):
                yield term, words[number].start(), words[number + len(term.words) - 1].end()
        if number + 1 < count:
            for term in vocabulary.longer(word, texts[number + 1]):
                if _follow(term, texts, number):
                    yield term, words[number].start(), words[number + len(term.words) - 1].end()


def _follow(term: Term, words: list[str], at: int) -> bool:
    """True if the other words of a term stand behind its first."""
    following = words[at + 1 : at + len(term.words)]
    return len(following) == len(term.words) - 1 and all(map(matches, term.words[1:], following))


@dataclass(frozen=True, slots=True)
class _Part:
    """Lines of a text that hold a script, without blanks between ideographs.

    ``places`` says where each character stood.
    """

    text: str
    places: list[int]

    @classmethod
    def of(cls, text: str, script: str) -> _Part:
        places = [at for start, end in _lines(text, script) for at in range(start, end)]
        chosen = "".join(text[at] for at in places)
        if script not in ("han", "kana", "thai") or not _HAN_GAP.search(chosen):
            return cls(chosen, places)
        kept: list[int] = []
        at = 0
        for found in _HAN_GAP.finditer(chosen):
            kept.extend(range(at, found.start()))
            at = found.end()
        kept.extend(range(at, len(chosen)))
        return cls("".join(chosen[at] for at in kept), [places[at] for at in kept])

    def events(self, patterns: Sequence[Pattern]) -> Iterator[Event]:
        """The phrases; a verb that only looks like one of an attack is left out."""
        taken = sorted(
            found.span()
            for one in patterns
            if one.concept == "negated"
            for found in one.pattern.finditer(self.text)
        )
        for one in patterns:
            if one.concept == "negated":
                continue
            for found in one.pattern.finditer(self.text):
                start, end = found.span()
                if one.concept not in ("dismiss", "send") or not _within(taken, start):
                    yield Event(self.places[start], self.places[end - 1] + 1, one.concept)


def _lines(text: str, script: str) -> Iterator[tuple[int, int]]:
    """Where lines stand that hold a character of a script, with their breaks."""
    letter = re.compile(f"[{SCRIPTS[script]}]")
    found = letter.search(text)
    while found is not None:
        end = text.find("\n", found.end())
        end = end + 1 if end >= 0 else len(text)
        yield text.rfind("\n", 0, found.start()) + 1, end
        found = letter.search(text, end)


def _within(spans: Sequence[tuple[int, int]], place: int) -> bool:
    """True if one of some spans, in order, holds a place."""
    number = bisect_right(spans, (place, sys.maxsize)) - 1
    return any(
        first <= place < last for first, last in spans[max(0, number - 2) : max(0, number + 1)]
    )
