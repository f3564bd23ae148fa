"""Searches texts without the differences that a strategy ignores, and maps matches back.

A :class:`Fold` names the differences. A :class:`Folded` text is searched with ``str.find``, and
each match is mapped back, so that offsets always refer to the text itself.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

BLANKS = " \t\f\v"
"""White space within a line."""

WORDS = 50
"""Number of words, the longest ones, that are searched for before a text is folded."""
_WORD = re.compile(r"[A-Za-z0-9_]+")
_HIDDEN = re.compile("[\u200b\u2060\ufeff\u00ad]")

Span = tuple[int, int]
"""``(start, end)`` of a passage."""


@dataclass(frozen=True)
class Step:
    """A pattern, and the replacement of each piece that it matches.

    ``sign`` is a quick check: a text without it has no such piece. ``whole`` is a quicker way to
    replace all pieces at once, if there is one.
    """

    pattern: re.Pattern[str]
    put: Callable[[str], str]
    sign: re.Pattern[str] | None = None
    whole: Callable[[str], str] | None = None

    def __call__(self, text: str) -> str:
        """Return ``text`` after the step."""
        if self.sign is not None and not self.sign.search(text):
            return text
        if self.whole is not None:
            return self.whole(text)
        return self.pattern.sub(lambda found: self.put(found[0]), text)


@dataclass(frozen=True)
class Fold:
    """The ignored differences: steps, one after the other.

    ``drops_indent``: the white space at the start of a line is dropped. ``whole_lines``: a passage
    must begin and end with a line.
    """

    steps: tuple[Step, ...] = ()
    drops_indent: bool = False
    whole_lines: bool = False

    def __call__(self, text: str) -> str:
        """Return ``text`` without the ignored differences."""
        for step in self.steps:
            text = step(text)
        return text

    def after(self, steps: tuple[Step, ...]) -> Fold:
        """Return the same fold with ``steps`` first."""
        return Fold((*steps, *self.steps), self.drops_indent, self.whole_lines)


class Folded:
    """A text after one more step; :meth:`start` and :meth:`end` map offsets to the text itself.

    No step adds, drops or crosses a line break, so that offsets are mapped within one line, and
    only after a match.
    """

    def __init__(self, before: str | Folded, step: Step | None = None) -> None:
        self._before = before if isinstance(before, Folded) else None
        self._source = before.text if isinstance(before, Folded) else before
        self._step = step
        self._layers: dict[int, _Layer] = {}
        self.text: str = step(self._source) if step else self._source

    @classmethod
    def of(cls, text: str, steps: tuple[Step, ...]) -> Folded:
        """Return ``text`` after ``steps``."""
        folded = cls(text)
        for step in steps:
            folded = cls(folded, step)
        return folded

    @property
    def length(self) -> int:
        """The length of the text itself."""
        return self._before.length if self._before else len(self._source)

    def start(self, offset: int) -> int | None:
        """Return where the passage that begins at ``offset`` here begins in the text.

        None if it begins within the replacement of several characters. Characters dropped before
        it are not part of it.
        """
        if self._before is None:
            return offset
        line = bisect_right(self._lines, offset) - 1
        at = self._layer(line).start(offset - self._lines[line])
        return None if at is None else self._before.start(self._before._lines[line] + at)

    def end(self, offset: int) -> int | None:
        """Return the same for the end; characters dropped after it are not part of it."""
        if self._before is None:
            return offset
        line = max(bisect_left(self._lines, offset) - 1, 0)
        at = self._layer(line).end(offset - self._lines[line])
        return None if at is None else self._before.end(self._before._lines[line] + at)

    def place(self, offset: int) -> int | None:
        """Return where ``offset`` of the text is here; None within a replaced piece."""
        if self._before is None:
            return offset
        before = self._before.place(offset)
        if before is None:
            return None
        line = bisect_right(self._before._lines, before) - 1
        at = self._layer(line).place(before - self._before._lines[line])
        return None if at is None else self._lines[line] + at

    @cached_property
    def _lines(self) -> list[int]:
        """The offset of each line."""
        return [0, *(found.end() for found in re.finditer("\n", self.text))]

    def _layer(self, line: int) -> _Layer:
        if line not in self._layers:
            assert self._before is not None
            assert self._step is not None
            start, *end = self._before._lines[line : line + 2]
            self._layers[line] = _Layer(self._source[start : end[0] if end else None], self._step)
        return self._layers[line]


class _Layer:
    """One step on one line: the old and new place of each replaced piece."""

    def __init__(self, line: str, step: Step) -> None:
        self._at: list[int] = []
        self._length: list[int] = []
        self._start: list[int] = []
        self._end: list[int] = []
        grown = 0
        for found in step.pattern.finditer(line):
            start, end = found.span()
            length = len(step.put(found[0]))
            self._at.append(start + grown)
            self._length.append(length)
            self._start.append(start)
            self._end.append(end)
            grown += length - (end - start)

    def start(self, offset: int) -> int | None:
        index = bisect_right(self._at, offset) - 1
        if index >= 0 and self._at[index] == offset and self._length[index]:
            return self._start[index]
        return self._past(index, offset)

    def end(self, offset: int) -> int | None:
        return self._past(bisect_left(self._at, offset) - 1, offset)

    def place(self, offset: int) -> int | None:
        index = bisect_right(self._start, offset) - 1
        if index < 0:
            return offset
        if offset == self._start[index]:
            return self._at[index]
        beyond = offset - self._end[index]
        return None if beyond < 0 else self._at[index] + self._length[index] + beyond

    def _past(self, index: int, offset: int) -> int | None:
        if index < 0:
            return offset
        beyond = offset - self._at[index] - self._length[index]
        return None if beyond < 0 else self._end[index] + beyond


class Haystack:
    """A text to search with several folds; each folded text is made once.

    ``text`` has ``\\n`` endings. For the search one more is added, so that a pattern that ends with
    a line break matches a last line without one; a span may therefore end at ``len(text)`` although
    the pattern continues with a line break.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._known: dict[str, bool] = {}
        self._folded: dict[tuple[Step, ...], Folded] = {(): Folded(text + "\n")}

    @cached_property
    def lines(self) -> list[str]:
        """The lines without surrounding white space."""
        return [line.strip(BLANKS) for line in self.text.split("\n")]

    def find(self, old: str, fold: Fold) -> list[Span]:
        """Return the matches of ``old`` with ``fold``, as spans of ``text`` in order.

        Of overlapping matches only the first counts, unless there are no others.
        """
        needle = fold(old.removesuffix("\n") + "\n" if fold.whole_lines else old)
        if not needle.strip() or not self._has_words(needle):
            return []
        folded = self._after(fold.steps)
        lines_up = fold.whole_lines or (fold.drops_indent and old[0] in BLANKS)
        found = _Search(self.text, folded, needle, lines_up)
        beyond = 1 if fold.whole_lines and not old.endswith("\n") else 0
        spans = [(start, min(end - beyond, len(self.text))) for start, end in found.all()]
        return [self._widened(span) for span in spans] if fold.steps else spans

    def _has_words(self, needle: str) -> bool:
        """Whether the text has the words of ``needle``, which no fold changes.

        Most searches without a match end here, before anything is folded.
        """
        if self._has_hidden:
            return True
        words = sorted(set(_WORD.findall(needle)), key=len)[-WORDS:]
        return all(self._has(word) for word in words)

    def _has(self, word: str) -> bool:
        if word not in self._known:
            self._known[word] = word in self.text
        return self._known[word]

    @cached_property
    def _has_hidden(self) -> bool:
        """Whether words may contain characters without width, which a fold drops."""
        return _HIDDEN.search(self.text) is not None

    def _after(self, steps: tuple[Step, ...]) -> Folded:
        if steps not in self._folded:
            self._folded[steps] = Folded(self._after(steps[:-1]), steps[-1])
        return self._folded[steps]

    def _widened(self, span: Span) -> Span:
        """Return the span with the white space that remains of its first and last line."""
        start, end = span
        head = self.text.rfind("\n", 0, start) + 1
        if not self.text[head:start].strip(BLANKS):
            start = head
        if self.text[end - 1] != "\n":
            tail = self.text.find("\n", end)
            tail = len(self.text) if tail < 0 else tail
            if not self.text[end:tail].strip(BLANKS):
                end = tail
        return start, end


@dataclass(frozen=True)
class _Search:
    """One search: a needle in a folded text."""

    text: str
    folded: Folded
    needle: str
    lines_up: bool

    MISSES = 2_000
    """Matches within words before a search gives up: a bound for texts in which a long pattern
    nearly matches everywhere."""

    def all(self) -> list[Span]:
        """Return the spans in order."""
        spans: list[Span] = []
        first = at = -1
        misses = 0
        step = 1
        while misses < self.MISSES and (at := self.folded.text.find(self.needle, at + step)) >= 0:
            span = self._span(at)
            step = 1 if span is None else len(self.needle)
            if span is None:
                misses += 1
                continue
            first = at if not spans else first
            spans.append(span)
        if len(spans) == 1:
            again = self.folded.text.find(self.needle, first + 1)
            if again >= 0 and (span := self._span(again)):
                spans = [spans[0], span] if span != spans[0] else spans
        return spans

    def _span(self, at: int) -> Span | None:
        if self.lines_up and at and self.folded.text[at - 1] != "\n":
            return None
        start, end = self.folded.start(at), self.folded.end(at + len(self.needle))
        if start is None or end is None:
            return None
        if within_word(self.text, start) or within_word(self.text, end):
            return None
        return start, end


def within_word(text: str, offset: int) -> bool:
    """Whether ``offset`` is inside a word.

    Letters without case, such as Chinese or Thai, do not form words here, because their scripts
    have no spaces between words.
    """
    return 0 < offset < len(text) and _wordy(text[offset - 1]) and _wordy(text[offset])


def _wordy(char: str) -> bool:
    if char.isascii():
        return char.isalnum() or char == "_"
    return char.lower() != char.upper()


def _constant(pattern: str, new: str) -> Step:
    compiled = re.compile(pattern, re.MULTILINE)
    return Step(compiled, lambda _piece: new, whole=lambda text: compiled.sub(new, text))


_INDENT = _constant(r"^[ \t\f\v]+", "")
_TRAILING = _constant(r"(?<![ \t\f\v])[ \t\f\v]++(?=\n)", "")
_RUN = _constant(r"[ \t\f\v]{2,}|[\t\f\v]", " ")

EXACT = Fold()
TRIMMED = Fold((_TRAILING, _INDENT), drops_indent=True, whole_lines=True)
RUNS = Fold((_TRAILING, _RUN))
FLEXIBLE = Fold((_TRAILING, _INDENT, _RUN), drops_indent=True)

QUOTES = {
    **dict.fromkeys("“”„‟″", '"'),
    **dict.fromkeys("‘’‚‛′", "'"),
    **dict.fromkeys("‐‑‒−", "-"),
    **dict.fromkeys("\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009", " "),
    **dict.fromkeys("\u200a\u202f\u205f\u3000", " "),
    **dict.fromkeys("\u200b\u2060\ufeff\u00ad", ""),
    "…": "...",
}
"""Typographic characters and their keyboard forms. Those without width are dropped."""
DASHES = (("--", "-"), ("-", "-"), ("---", "--"))
"""Keyboard forms of an em dash (or horizontal bar) and an en dash; one pair at a time, because
``-`` and ``--`` differ everywhere else."""

_MARKS = re.compile("[\u0300-\u036f\u3099\u309a\u1100-\u11ff]")
_MARKED = re.compile(
    "[^\u0300-\u036f\u3099\u309a\n][\u0300-\u036f\u3099\u309a]+|[\u1100-\u11ff]{2,}"
)
"""A letter with combining marks (Latin, Greek, Cyrillic, kana), or a Korean syllable in parts."""
_COMPOSED = Step(_MARKED, lambda piece: unicodedata.normalize("NFC", piece), _MARKS)


def _typed(em: str, en: str) -> Step:
    table = {**QUOTES, "—": em, "―": em, "–": en}
    letters = str.maketrans(table)
    pattern = re.compile(f"[{''.join(table)}]")
    return Step(pattern, table.__getitem__, pattern, lambda text: text.translate(letters))


TYPED: tuple[tuple[Step, ...], ...] = tuple((_COMPOSED, _typed(em, en)) for em, en in DASHES)
"""Steps that replace typographic characters by keyboard forms, by kind of dash."""
TYPOGRAPHIC = re.compile(f"[{''.join(QUOTES)}—―–\u0300-\u036f\u3099\u309a\u1100-\u11ff]")
"""Matches the pieces that the steps of :data:`TYPED` replace, or parts of them."""
DASH = re.compile("[—―–]")
