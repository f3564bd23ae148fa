"""Long Markdown in pieces that a platform takes; nothing is lost, code fences stay whole.

:func:`split` gives the texts, :func:`cut` each piece with the part of the original it stands for.
Both take time in proportion to the text, whatever it holds.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from .limits import Limits

Length: TypeAlias = Callable[[str], int]

SMALLEST = 32
"""The least limit. Below twice of it, a long emoji inside a code fence may be cut, in bytes."""
EARLIEST = 4
"""A border counts only behind this part of a piece, so that pieces do not become tiny."""
CLUSTER = 64
"""Characters of which a grapheme cluster is thought to have fewer; longer ones may be cut."""
CANDIDATES = 32
"""Borders of one kind that are tried, from the last."""

SPARE = 8
"""A piece that counts for too much is made smaller by this part more than the excess, at least."""
_TABLE = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})([^\n]*)")
_SENTENCE = re.compile(r"[.!?…][\"')\]»”’]*\s+|[。！？]+[」』”’]*")
_SPACE = re.compile(r"\s+")


def utf16(text: str) -> int:
    """UTF-16 code units, as Telegram counts."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def utf8(text: str) -> int:
    """Bytes of UTF-8, as Feishu counts."""
    return len(text.encode("utf-8", "surrogatepass"))


def length_of(unit: Literal["utf16", "chars", "bytes"]) -> Length:
    """The function that counts as the platform does."""
    return {"utf16": utf16, "chars": len, "bytes": utf8}[unit]


def fitting(
    markdown: str, limits: Limits, start: int = 0, *, room: int | None = None, frame: str = ""
) -> Piece:
    """The next piece of ``markdown`` from ``start`` that one message takes.

    Args:
        markdown: the whole text.
        limits: what the platform allows: length as it counts, and tables.
        start: an end of another piece, below the text's length.
        room: characters, in ``limits.unit``, if less than ``limits.text`` is to be used.
        frame: what is put before or behind the piece, and counts.

    Pieces that follow each other add up to the text (see :func:`split`). Where not even
    :data:`SMALLEST` characters fit, the piece is that short.
    """
    length = length_of(limits.unit)
    measure = limits.measure or length
    text = markdown[: _stop_of_tables(markdown, start, limits.tables)]
    most = limits.text - (0 if limits.measure else length(frame))
    size = max(SMALLEST, min(most, room or most))
    while True:
        piece = next(cut(text, size, length, start))
        counted = measure(frame + piece.text)
        if counted <= limits.text or size <= SMALLEST:
            return replace(piece, is_last=piece.end == len(markdown))
        size = min(size, length(piece.text))
        size = max(SMALLEST, size * limits.text // counted - size // SPARE // 4 - 1)


def _stop_of_tables(text: str, start: int, most: int | None) -> int:
    """Where the first table begins that is one too many; the text's length without one."""
    if most is None:
        return len(text)
    fence, before, at, found = _fence_after(text, start), start, start, 0
    while at < len(text):
        end = newline if (newline := text.find("\n", at)) >= 0 else len(text)
        line = text[at:end]
        if fence is None and "|" in line and "-" in line and _TABLE.fullmatch(line) and at > before:
            found += "|" in text[before:at]
            if found > most:
                return before
        fence = _step(fence, text, at, end)
        before, at = at, end + 1
    return len(text)


@dataclass(frozen=True, slots=True)
class Piece:
    """``text`` is what is sent for ``source``, the original from ``start`` to ``end``: the same
    with a line in front and one behind where a code fence is continued."""

    text: str
    source: str
    start: int
    end: int
    is_last: bool


@dataclass(frozen=True, slots=True)
class _Fence:
    """An open code fence: its marks, and the words behind them."""

    marks: str
    info: str

    @property
    def opener(self) -> str:
        return f"{self.marks}{self.info}\n"

    def closed_by(self, marks: str, rest: str) -> bool:
        return marks[0] == self.marks[0] and len(marks) >= len(self.marks) and not rest.strip()


def split(markdown: str, limit: int, length: Length = len) -> list[str]:
    """``markdown`` in pieces of at most ``limit``, as ``length`` counts.

    Cut at paragraphs, then lines, sentences, words, and inside a word only between grapheme
    clusters. A code fence that is cut is closed, and opened again with its info string. Without
    those added lines the pieces add up to the original. Raises ``ValueError`` for a limit below
    :data:`SMALLEST`.
    """
    return [piece.text for piece in cut(markdown, limit, length)]


def cut(markdown: str, limit: int, length: Length = len, start: int = 0) -> Iterator[Piece]:
    """The pieces of ``markdown`` from ``start`` on, an end of another piece; see :func:`split`.

    ``length`` has to grow with the text, by one for each character at least.
    """
    if limit < SMALLEST:
        raise ValueError(f"a message of {limit} is too short to split for; {SMALLEST} is the least")
    fence = _fence_after(markdown, start)
    while start < len(markdown):
        piece, fence = _next(markdown, start, fence, limit, length)
        yield piece
        start = piece.end


def _next(
    text: str, start: int, fence: _Fence | None, limit: int, length: Length
) -> tuple[Piece, _Fence | None]:
    fence = _bearable(fence, limit, length)
    opener = fence.opener if fence else ""
    room = limit - length(opener)
    end = _reach(text, start, room, length)
    if end == len(text):
        return Piece(opener + text[start:], text[start:], start, end, True), None
    end, after = _Scan(text, start, end, fence).best()
    after = _bearable(after, limit, length)
    for spared in (len(_close(text, end, after)), _most_marks(limit) + 1):
        if length(text[start:end]) + len(_close(text, end, after)) <= room:
            break
        fitting = _reach(text, start, room - spared, length)
        end, after = _Scan(text, start, fitting, fence).best()
        after = _bearable(after, limit, length)
    source = text[start:end]
    return Piece(opener + source + _close(text, end, after), source, start, end, False), after


def _close(text: str, end: int, fence: _Fence | None) -> str:
    if fence is None:
        return ""
    return fence.marks if text[end - 1] == "\n" else f"\n{fence.marks}"


def _most_marks(limit: int) -> int:
    """The longest fence that is opened again."""
    return limit // 8


def _bearable(fence: _Fence | None, limit: int, length: Length) -> _Fence | None:
    """The fence as it is opened again: without a long info, and not at all with long marks."""
    if fence is None or len(fence.marks) > _most_marks(limit):
        return None
    return fence if length(fence.info) <= limit // 4 else _Fence(fence.marks, "")


def _reach(text: str, start: int, room: int, length: Length) -> int:
    """The furthest end of a part from ``start`` that is no longer than ``room``."""
    low, high = start + 1, min(len(text), start + room)
    if high <= low or length(text[start:high]) <= room:
        return max(low, high)
    while low < high:
        middle = (low + high + 1) // 2
        if length(text[start:middle]) <= room:
            low = middle
        else:
            high = middle - 1
    return low


class _Scan:
    """The borders in a part of the text. ``fence`` is what is open where it starts."""

    def __init__(self, text: str, start: int, end: int, fence: _Fence | None) -> None:
        self._text, self._start, self._end = text, start, end
        self._least = start + (end - start) // EARLIEST
        self._paragraph = self._line = self._code_line = 0
        self._fence = self._code_fence = fence
        """What is open at the last line's beginning, and at the last border inside a fence."""
        self._lines(fence)

    def _lines(self, fence: _Fence | None) -> None:
        at = self._start
        whole = at == 0 or self._text[at - 1] == "\n"
        while (newline := self._text.find("\n", at, self._end)) >= 0:
            fence = _step(fence, self._text, at, newline) if whole else fence
            blank = not self._text[at:newline].strip()
            at, whole, self._fence = newline + 1, True, fence
            if at < self._least:
                continue
            if fence is not None:
                if not self._code_line or not self._closes(fence, at):
                    self._code_line, self._code_fence = at, fence
            else:
                self._line = at
                self._paragraph = at if blank else self._paragraph

    def _closes(self, fence: _Fence, at: int) -> bool:
        """True if the line at ``at`` ends the fence, which would be opened again for nothing."""
        end = self._text.find("\n", at, self._end + CLUSTER)
        return _step(fence, self._text, at, end if end >= 0 else self._end + CLUSTER) is None

    def best(self) -> tuple[int, _Fence | None]:
        """The best place to cut, and the fence that is open there."""
        for place in (self._paragraph, self._line):
            if place:
                return place, None
        if self._code_line:
            return self._code_line, self._code_fence
        for pattern in (_SENTENCE, _SPACE):
            ends = [m.end() for m in pattern.finditer(self._text, self._least, self._end)]
            for place in reversed(ends[-CANDIDATES:]):
                if self._is_border(place):
                    return place, self._fence
        return self._cluster(), self._fence

    def _is_border(self, place: int) -> bool:
        """False between CR and LF, and before a mark that belongs to the space or stop."""
        found = _clusters().match(self._text[place - 1 : place + CLUSTER])
        return found is not None and found.end() == 1

    def _cluster(self) -> int:
        """The last border between grapheme clusters; the end where one is as long as the part.

        In slices, because the expression looks back through a whole run of flags.
        """
        border = at = self._start
        while at < self._end:
            ends = [at + m.end() for m in _clusters().finditer(self._text[at : at + CLUSTER])]
            whole = ends[:-1] if len(ends) > 1 and ends[-1] < len(self._text) else ends
            border = max([border, *[end for end in whole if end <= self._end]])
            at = whole[-1]
        return border if border > self._start else self._end


@functools.cache
def _clusters() -> Any:
    """The expression for one grapheme cluster; its library is loaded when it is first needed."""
    import regex  # type: ignore[import-untyped,unused-ignore]

    return regex.compile(r"\X")


def _step(fence: _Fence | None, text: str, start: int, end: int) -> _Fence | None:
    """The fence that is open after a line."""
    found = _FENCE.match(text, start, end)
    if found is None:
        return fence
    marks, rest = found[1], found[2]
    if fence is not None:
        return None if fence.closed_by(marks, rest) else fence
    if marks[0] == "`" and "`" in rest:
        return None
    return _Fence(marks, rest.rstrip())


def _fence_after(text: str, end: int) -> _Fence | None:
    """The fence that is open where the first ``end`` characters end."""
    fence, at = None, 0
    while (newline := text.find("\n", at, end)) >= 0:
        fence, at = _step(fence, text, at, newline), newline + 1
    return fence
