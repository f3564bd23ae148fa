"""Replaces an inexact match, and keeps the parts of it that the model did not change.

There are three texts: ``old`` and ``new`` as the model wrote them, and the stored passage. Only the
differences between ``old`` and ``new`` are taken from ``new``; lines and words that both have come
from the passage, with its white space, quotes and line endings. New lines are indented like their
surroundings.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .alignment import stretches
from .errors import LineLost
from .folding import BLANKS, Fold, Folded
from .indentation import Indents, indent_of
from .view import newline_of

LIKE = 0.5
"""Minimum similarity of a line to the one that it counts as."""
COMPARED_LINES = 10_000
"""Maximum pairs of changed lines that are compared to match them."""
COMPARED_CHARS = 500
"""Characters of a line that are compared for this."""

_TOKEN = re.compile(r"\w+|[^\S\n]+|\.{3}|-{2,3}|.", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Passage:
    """The lines of a matched passage, and their endings: one fewer, unless the last line ends too.

    ``begins_line`` is False if the passage starts within a line; ``usual`` is the line ending of
    new lines.
    """

    lines: list[str]
    endings: list[str]
    begins_line: bool
    usual: str

    @classmethod
    def of(cls, passage: str, usual: str, *, begins_line: bool) -> Passage:
        """Return the passage of a stored text whose usual line ending is ``usual``."""
        newline = r"(\r)" if usual == "\r" else r"(\r\n|\n)"
        parts = re.split(newline, passage)
        return cls(parts[::2], parts[1::2], begins_line, newline_of(passage, usual))


class Merge:
    """The replacement of one passage; ``level`` returns one level of the text's indentation."""

    def __init__(
        self, passage: Passage, old: str, new: str, fold: Fold, level: Callable[[], str]
    ) -> None:
        if old.count("\n") == len(passage.endings) + 1:  # The last line of the text has no ending.
            tail = old.rpartition("\n")[2]
            old, new = _unended(old, tail), _unended(new, tail)
        self._passage = passage
        self._fold = fold
        self._old = old.split("\n")
        self._new = new.split("\n")
        pairs = {
            index: (indent_of(line), indent_of(here))
            for index, (line, here) in enumerate(zip(self._old, passage.lines, strict=True))
            if line.strip(BLANKS) and here.strip(BLANKS) and self._comparable(index)
        }
        self._indents = Indents(pairs, self._new, level)

    def text(self) -> str:
        """Return the text that replaces the passage.

        Raises:
            LineLost: it would lack a line of the passage that the model cannot have meant.
        """
        parts: list[str] = []
        for line, ending in self._lines():
            parts += (line, ending)
        return "".join(parts[:-1])

    def _lines(self) -> Iterator[tuple[str, str]]:
        """Yield the new lines with their endings; that of the last line is not used."""
        passage = self._passage
        for same, start, end, new_start, new_end in stretches(self._old, self._new):
            if same:
                for index in range(start, end):
                    yield passage.lines[index], self._ending(index)
                continue
            origins = self._origins(start, end, new_start, new_end)
            for index in {*range(start, end)} - {*origins.values()}:
                self._require_known(index)
            for position in range(new_start, new_end):
                origin = origins.get(position)
                if origin is None:
                    at = min(start, len(self._old) - 1)
                    yield self._indented(self._new[position], at, position), passage.usual
                else:
                    line = self._changed(origin, self._new[position], position)
                    yield line, self._ending(origin)

    def _origins(self, start: int, end: int, new_start: int, new_end: int) -> dict[int, int]:
        """Return the old line's index for each new line that is a changed old one."""
        if end - start == new_end - new_start:
            return dict(zip(range(new_start, new_end), range(start, end), strict=True))
        if (end - start) * (new_end - new_start) > COMPARED_LINES:
            return {}
        from rapidfuzz.distance import Indel

        found: dict[int, int] = {}
        free = start
        for position in range(new_start, new_end):
            line = self._new[position].strip(BLANKS)[:COMPARED_CHARS]
            scores = [
                (Indel.normalized_similarity(line, old.strip(BLANKS)[:COMPARED_CHARS]), -index)
                for index, old in enumerate(self._old[free:end], free)
                if line and old.strip(BLANKS)
            ]
            score, index = max(scores, default=(0.0, 0))
            if score >= LIKE:
                found[position] = -index
                free = -index + 1
        return found

    def _changed(self, origin: int, new: str, position: int) -> str:
        """Return an old line as the model changed it, with unchanged parts as they are stored."""
        old, here = self._old[origin], self._passage.lines[origin]
        if not new.strip(BLANKS):
            self._require_known(origin)
            return new
        if not old.strip(BLANKS):
            self._require_known(origin)
            return self._indented(new, origin, position)
        if self._fold(_content(old)) != self._fold(_content(here)):
            self._require_known(origin)
            return self._indented(new, origin, position)
        if not self._comparable(origin):
            return self._merged(old, here, new)
        same = indent_of(new) == indent_of(old)
        indent = indent_of(here) if same else self._indents.here(indent_of(new), origin)
        old_tail, here_tail, new_tail = _tail(old), _tail(here), _tail(new)
        tail = here_tail if old_tail == new_tail else new_tail
        return indent + self._merged(_content(old), _content(here), _content(new)) + tail

    def _merged(self, old: str, here: str, new: str) -> str:
        """Return ``new``, with the words that ``old`` has too written as in ``here``."""
        old_folded = Folded.of(old, self._fold.steps)
        here_folded = Folded.of(here, self._fold.steps)
        if old_folded.text != here_folded.text:
            return new
        tokens, new_tokens = _TOKEN.findall(old), _TOKEN.findall(new)
        edges = [0]
        for token in tokens:
            edges.append(edges[-1] + len(token))
        parts: list[str] = []
        for same, start, end, new_start, new_end in stretches(tokens, new_tokens):
            if not same:
                parts += new_tokens[new_start:new_end]
                continue
            span = _counterpart(old_folded, here_folded, edges[start], edges[end])
            if span is None:
                return new
            parts.append(here[slice(*span)])
        return "".join(parts)

    def _indented(self, new: str, at: int, position: int) -> str:
        """Return a new line near line ``at`` of ``old``, indented like the text there."""
        if not new.strip(BLANKS) or (position == 0 and not self._comparable(0)):
            return new
        indent = indent_of(new)
        return self._indents.here(indent, at) + new[len(indent) :]

    def _comparable(self, index: int) -> bool:
        """Whether the passage contains the beginning of a line."""
        return index > 0 or self._passage.begins_line

    def _require_known(self, index: int) -> None:
        """Raise ``LineLost`` for a line of the passage that is not similar to ``old``'s."""
        here, old = _content(self._passage.lines[index]), _content(self._old[index])
        if not here or self._fold(here) == self._fold(old):
            return
        from rapidfuzz.distance import Indel

        if Indel.normalized_similarity(here[:COMPARED_CHARS], old[:COMPARED_CHARS]) < LIKE:
            raise LineLost(here)

    def _ending(self, index: int) -> str:
        endings = self._passage.endings
        return endings[index] if index < len(endings) else self._passage.usual


def _counterpart(old: Folded, here: Folded, start: int, end: int) -> tuple[int, int] | None:
    """Return where a stretch of ``old`` is in ``here``, which is the same when folded.

    None if it begins or ends within the replacement of several characters.
    """
    places = old.place(start), old.place(end)
    if places[0] is None or places[1] is None:
        return None
    first = here.end(places[0])
    last = here.length if places[1] == len(here.text) else here.end(places[1])
    return None if first is None or last is None else (first, last)


def _unended(text: str, tail: str) -> str:
    """Return ``text`` without its last line break, if only ``tail`` or white space follows."""
    head, newline, rest = text.rpartition("\n")
    return head if newline and (rest == tail or not rest.strip()) else text


def _content(line: str) -> str:
    return line.strip(BLANKS)


def _tail(line: str) -> str:
    return line[len(line.rstrip(BLANKS)) :]
