"""Splits long Markdown into messages that a platform accepts.

No text is lost, and what is cut is closed and reopened: a code fence, a table with its header, a
quotation, emphasis. Nothing becomes a list, heading or quotation by the cut.
:func:`split_markdown` returns the texts, :func:`iter_pieces` each piece with its part of the
original, and :func:`next_piece` the next piece within a platform's limits. All take time
proportional to the text.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from .limits import Limits
from .split_marks import (
    belongs_to_line_before,
    dedented,
    escape_block_start,
    indent_at,
    list_margin,
    quote_prefix,
    spans_at,
    starts_block,
    table_header,
)

Length: TypeAlias = Callable[[str], int]

MIN_LIMIT = 32
"""The smallest limit. Below twice that, in bytes, a long emoji inside a code fence may be cut."""
MIN_PIECE_DIVISOR = 4
"""Text is not cut within the first quarter of a piece, so that pieces do not become tiny."""
MAX_CLUSTER_CHARS = 64
"""Longer grapheme clusters may be cut."""
MAX_CANDIDATES = 32
"""Maximum places of one kind that are tried, starting from the last."""
SHRINK_DIVISOR = 32
"""A piece that is too long is shortened by its excess and by at least this fraction more."""
MAX_INDENT = 16
"""Columns of a fence's indent that are kept."""
MIN_LIMIT_FOR_MARKS = 256
"""The smallest limit with which more than code fences is closed and reopened."""
_TABLE = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_FENCE = re.compile(r"(?:[ ]{0,3}(?:>[ ]?)+)?[ \t]*(`{3,}|~{3,})([^\n]*)")
_SENTENCE = re.compile(r"[.!?…][\"')\]»”’]*\s+|[。！？]+[」』”’]*")
_SPACE = re.compile(r"\s+")


def utf16(text: str) -> int:
    """UTF-16 code units, as Telegram counts."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def utf8(text: str) -> int:
    """Bytes of UTF-8, as Feishu counts."""
    return len(text.encode("utf-8", "surrogatepass"))


def length_function(unit: Literal["utf16", "chars", "bytes"]) -> Length:
    """Return the function that measures a text in ``unit``."""
    return {"utf16": utf16, "chars": len, "bytes": utf8}[unit]


def next_piece(
    markdown: str, limits: Limits, start: int = 0, *, room: int | None = None, frame: str = ""
) -> Piece:
    """Return the piece of ``markdown`` from ``start`` that fits in one message.

    Args:
        markdown: the whole text.
        limits: the platform's limits of length and tables.
        start: 0 or the end of the previous piece, below the length of the text.
        room: a maximum length in ``limits.unit``, if that is less than ``limits.text``.
        frame: text that is added before or after the piece and counts too.

    Consecutive pieces add up to the text (see :func:`split_markdown`). If not even
    :data:`MIN_LIMIT` characters fit, the piece has that length.
    """
    length = length_function(limits.unit)
    measure = limits.measure or length
    text = markdown[: _end_by_tables(markdown, start, limits.tables)]
    available = limits.text - (0 if limits.measure else length(frame))
    size = max(MIN_LIMIT, min(available, room or available))
    while True:
        piece = next(iter_pieces(text, size, length, start))
        counted = measure(frame + piece.text)
        if counted <= limits.text or size <= MIN_LIMIT:
            return replace(piece, is_last=piece.end == len(markdown))
        size = min(size, length(piece.text))
        size = max(MIN_LIMIT, size * limits.text // counted - size // SHRINK_DIVISOR - 1)


def _end_by_tables(text: str, start: int, max_tables: int | None) -> int:
    """Return where the first table beyond ``max_tables`` starts; else the length of the text."""
    if max_tables is None:
        return len(text)
    fence, before, at = _fence_after(text, start), start, start
    found = int(fence is None and table_header(text, start) != "")
    while at < len(text):
        end = newline if (newline := text.find("\n", at)) >= 0 else len(text)
        line = text[at:end]
        if fence is None and "|" in line and "-" in line and _TABLE.fullmatch(line) and at > before:
            found += "|" in text[before:at]
            if found > max_tables:
                return before
        fence = _step(fence, text, at, end)
        before, at = at, end + 1
    return len(text)


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text.

    Attributes:
        text: the text to send: ``source``, with what closes and reopens what was cut.
        source: the original text from ``start`` to ``end``.
        start: index of its first character.
        end: index after its last character.
        is_last: the text ends with it.
    """

    text: str
    source: str
    start: int
    end: int
    is_last: bool


@dataclass(frozen=True, slots=True)
class _Fence:
    """An open code fence: its marks, its info string, the marks of a quotation before it, and its
    indent in columns."""

    marks: str
    info: str
    quote: str = ""
    indent: int = 0

    def opener(self, at_line: bool) -> str:
        """Return the line that opens it again, with the quotation of a line that was cut."""
        return f"{self.quote}{self.marks}{self.info}\n" + ("" if at_line else self.quote)

    def closed_by(self, marks: str, rest: str) -> bool:
        return marks[0] == self.marks[0] and len(marks) >= len(self.marks) and not rest.strip()


def split_markdown(markdown: str, limit: int, length: Length = len) -> list[str]:
    """Split ``markdown`` into texts of at most ``limit``, as ``length`` counts.

    Text is cut between paragraphs if possible, else between lines, sentences or words, and within a
    word only between grapheme clusters. A code fence that is cut is closed, and reopened with its
    info string; without those added lines the pieces add up to the original. Raises ``ValueError``
    for a limit below :data:`MIN_LIMIT`.
    """
    return [piece.text for piece in iter_pieces(markdown, limit, length)]


def iter_pieces(markdown: str, limit: int, length: Length = len, start: int = 0) -> Iterator[Piece]:
    """Yield the pieces of ``markdown`` from ``start``, which is 0 or the end of a piece.

    See :func:`split_markdown`. ``length`` must count at least 1 for each character.
    """
    if limit < MIN_LIMIT:
        raise ValueError(f"cannot split for a limit of {limit}; the smallest is {MIN_LIMIT}")
    fence = _fence_after(markdown, start)
    while start < len(markdown):
        piece, fence = _cut_piece(markdown, start, fence, limit, length)
        yield piece
        start = piece.end


def _cut_piece(
    text: str, start: int, fence: _Fence | None, limit: int, length: Length
) -> tuple[Piece, _Fence | None]:
    fence = _reopenable(fence, limit, length)
    at_line = start == 0 or text[start - 1] == "\n"
    opener = fence.opener(at_line) if fence else _opener(text, start, limit, length)
    is_escaped = fence is None and not opener.strip("> ") and _is_escaped(text, start, limit)
    margin = _margin(text, start, fence, limit)
    room = limit - length(opener) - is_escaped
    end = _fit(text, start, room, length)
    if end == len(text):
        body, _ = _body(text, start, end, fence, margin, is_escaped=is_escaped)
        return Piece(opener + body, text[start:], start, end, True), None
    end, after = _CutFinder(text, start, end, fence, limit).best()
    after = _reopenable(after, limit, length)
    for reserved in (len(_close(text, end, after, limit)), _max_marks(limit) + 1):
        if length(text[start:end]) + len(_close(text, end, after, limit)) <= room:
            break
        nearer = _fit(text, start, room - reserved, length)
        end, after = _CutFinder(text, start, nearer, fence, limit).best()
        after = _reopenable(after, limit, length)
    body, margin = _body(text, start, end, fence, margin, is_escaped=is_escaped)
    closer = _close(text, end, after, limit, margin)
    if after is None and closer:  # marks stand before white space
        words = body.rstrip()
        body = words + closer + body[len(words) :]
    else:
        body += closer
    return Piece(opener + body, text[start:end], start, end, False), after


def _margin(text: str, start: int, fence: _Fence | None, limit: int) -> int:
    """Return the columns of white space to remove from the lines of a piece, so that what stood in
    a list is not code without it."""
    if start == 0 or limit < MIN_LIMIT_FOR_MARKS:
        return 0
    return fence.indent if fence is not None else list_margin(text, start)


def _body(
    text: str, start: int, end: int, fence: _Fence | None, margin: int, *, is_escaped: bool
) -> tuple[str, int]:
    """Return a part of the text, and what is left of ``margin`` at its end.

    The margin shrinks to that of the first line with less. Code in a fence may have any.
    """
    source = text[start:end]
    if is_escaped and (found := starts_block(text, start)) is not None:
        source = escape_block_start(found, source, start)
    if not margin:
        return source, 0
    lines, at = source.split("\n"), start
    for number, line in enumerate(lines):
        is_whole = number > 0 or start == 0 or text[start - 1] == "\n"
        if is_whole and fence is None and line.strip(" \t>"):
            margin = min(margin, indent_at(line, 0))
        lines[number] = dedented(line, margin) if is_whole else line
        newline = text.find("\n", at)
        fence = _step(fence, text, at, newline if newline >= 0 else len(text))
        at = newline + 1
        if newline < 0 or at > end:
            break
    return "\n".join(lines), margin


def _opener(text: str, start: int, limit: int, length: Length) -> str:
    """Return what is open at a place outside of fences: a table, a quotation, emphasis."""
    if start == 0 or limit < MIN_LIMIT_FOR_MARKS:
        return ""
    if header := table_header(text, start):
        margin = list_margin(text, start)
        header = "\n".join(dedented(line, margin) for line in header.split("\n"))
        return header if length(header) <= limit // MIN_PIECE_DIVISOR else ""
    cut = [span.marks_at(start, _max_marks(limit)) for span in spans_at(text, start)]
    marks = quote_prefix(text, start) + "".join(one[1] for one in cut if one)
    return marks if length(marks) <= limit // MIN_PIECE_DIVISOR else ""


def _is_escaped(text: str, start: int, limit: int) -> bool:
    """Whether a piece within a line would start like a list, a heading or a quotation."""
    if start == 0 or limit < MIN_LIMIT_FOR_MARKS:
        return False
    if text[start - 1] != "\n":
        return starts_block(text, start) is not None
    before = text[text.rfind("\n", 0, start - 1) + 1 : start - 1]
    found = starts_block(text, start)
    is_paragraph = before.strip() and before[0] not in " \t>|" and starts_block(before, 0) is None
    return bool(is_paragraph and found and found["number"] and int(found["number"]) != 1)


def _close(text: str, end: int, fence: _Fence | None, limit: int, margin: int = 0) -> str:
    if fence is not None:
        indent = " " * (fence.indent - margin) if limit >= MIN_LIMIT_FOR_MARKS else ""
        closer = fence.quote + indent + fence.marks
        return closer if text[end - 1] == "\n" else f"\n{closer}"
    if limit < MIN_LIMIT_FOR_MARKS:
        return ""
    cut = [span.marks_at(end, _max_marks(limit)) for span in reversed(spans_at(text, end))]
    return "".join(one[0] for one in cut if one)


def _max_marks(limit: int) -> int:
    """Return the maximum length of marks that are repeated: of a fence, or of a link."""
    return limit // 8


def _reopenable(fence: _Fence | None, limit: int, length: Length) -> _Fence | None:
    """Return the fence to reopen, without a long info string; None if its marks are long."""
    if fence is None or len(fence.marks) > _max_marks(limit):
        return None
    return fence if length(fence.info) <= limit // 4 else replace(fence, info="")


def _fit(text: str, start: int, room: int, length: Length) -> int:
    """Return the furthest end of a part from ``start`` whose length is at most ``room``."""
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


class _CutFinder:
    """Finds the best place to cut a part of the text. ``fence`` is open at its start."""

    def __init__(self, text: str, start: int, end: int, fence: _Fence | None, limit: int) -> None:
        self._text, self._start, self._end, self._limit = text, start, end, limit
        self._least = start + (end - start) // MIN_PIECE_DIVISOR
        self._paragraph = self._line = self._code_line = 0
        self._fence = self._code_fence = fence
        """The fence that is open at the last line, and at the last cut inside a fence."""
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
            if fence is None and belongs_to_line_before(self._text, at):
                continue
            if fence is not None:
                if not self._code_line or not self._closes(fence, at):
                    self._code_line, self._code_fence = at, fence
            else:
                self._line = at
                self._paragraph = at if blank else self._paragraph

    def _closes(self, fence: _Fence, at: int) -> bool:
        """Whether the line at ``at`` closes the fence; reopening it would be useless."""
        end = self._text.find("\n", at, self._end + MAX_CLUSTER_CHARS)
        return (
            _step(fence, self._text, at, end if end >= 0 else self._end + MAX_CLUSTER_CHARS) is None
        )

    def best(self) -> tuple[int, _Fence | None]:
        """Return the best place to cut, and the fence that is open there."""
        for place in (self._paragraph, self._line):
            if place:
                return place, None
        if self._code_line:
            return self._code_line, self._code_fence
        places: list[int] = []
        for pattern in (_SENTENCE, _SPACE):
            ends = [m.end() for m in pattern.finditer(self._text, self._least, self._end)]
            places += filter(self._is_boundary, reversed(ends[-MAX_CANDIDATES:]))
        best = min(places, key=self._damage) if places else self._cluster()
        return self._outside_of_links(best), self._fence

    def _outside_of_links(self, place: int) -> int:
        """Return the place before a link or the like that is cut at ``place`` and fits in the next
        piece; of a link that does not fit, the place before its address."""
        if self._fence is not None or self._limit < MIN_LIMIT_FOR_MARKS:
            return place
        for span in spans_at(self._text, place):
            if span.marks_at(place, _max_marks(self._limit)) is not None:
                continue
            if span.end - span.start <= self._end - self._start and span.start > self._start:
                return span.start
            address = span.label_end + len("](")
            if span.label_end and self._start < address <= self._end:
                return address
        return place

    def _damage(self, place: int) -> int:
        """Return how much a cut at a place within a line harms: an address, the text of a link, a
        block, emphasis."""
        if self._fence is not None:
            return 0
        spans = spans_at(self._text, place)
        longest = _max_marks(self._limit)
        is_broken = any(span.marks_at(place, longest) is None for span in spans)
        is_link_cut = any(span.label_end for span in spans)
        makes_block = starts_block(self._text, place) is not None
        return 8 * is_broken + 4 * is_link_cut + 2 * makes_block + bool(spans)

    def _is_boundary(self, place: int) -> bool:
        """False between CR and LF, and before a combining character."""
        found = _clusters().match(self._text[place - 1 : place + MAX_CLUSTER_CHARS])
        return found is not None and found.end() == 1

    def _cluster(self) -> int:
        """Return the last boundary between grapheme clusters; the end if one fills the part.

        It searches in slices, because the expression looks back through a whole run of flags.
        """
        boundary = at = self._start
        while at < self._end:
            ends = [
                at + m.end() for m in _clusters().finditer(self._text[at : at + MAX_CLUSTER_CHARS])
            ]
            whole = ends[:-1] if len(ends) > 1 and ends[-1] < len(self._text) else ends
            boundary = max([boundary, *[end for end in whole if end <= self._end]])
            at = whole[-1]
        return boundary if boundary > self._start else self._end


@functools.cache
def _clusters() -> Any:
    """Return the expression for one grapheme cluster; its library is imported on first use."""
    import regex  # type: ignore[import-untyped,unused-ignore]

    return regex.compile(r"\X")


def _step(fence: _Fence | None, text: str, start: int, end: int) -> _Fence | None:
    """Return the fence that is open after a line."""
    if fence is not None and fence.quote and not text[start:end].lstrip(" ").startswith(">"):
        fence = None  # the quotation has ended, and the code in it
    found = _FENCE.match(text, start, end)
    if found is None:
        return fence
    marks, rest = found[1], found[2]
    if fence is not None:
        return None if fence.closed_by(marks, rest) else fence
    if marks[0] == "`" and "`" in rest:
        return None
    indent = min(MAX_INDENT, indent_at(text, start))
    return _Fence(marks, rest.rstrip(), quote_prefix(text, found.start(1)), indent)


def _fence_after(text: str, end: int) -> _Fence | None:
    """Return the fence that is open after the first ``end`` characters."""
    fence, at = None, 0
    while (newline := text.find("\n", at, end)) >= 0:
        fence, at = _step(fence, text, at, newline), newline + 1
    return fence
