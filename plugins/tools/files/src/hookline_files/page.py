"""The page of a file that ``read_file`` shows."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from hookline_hookspecs import Paths, ToolError
from hookline_textmatch import cut, lines_of

from .disk import READ_CHUNK_BYTES, FileStamp, load
from .encoding import SNIFF_BYTES, BinaryContent, decode, detect_encoding

MAX_WHOLE_BYTES = 10_000_000
"""A larger file is not read whole but scanned from its start."""
MAX_SCAN_BYTES = 256_000_000
"""Bytes of a large file that ``read_file`` scans."""
CONTINUATION_NOTE_CHARS = 200
"""Characters reserved for the note on how to continue."""


@dataclass(frozen=True, slots=True)
class LineRange:
    """The requested lines (from 1, inclusive; None = open) and the limits of one page."""

    start: int | None
    end: int | None
    max_lines: int
    max_chars: int


@dataclass(slots=True)
class Page:
    """Consecutive lines of a file, cut for display. ``first`` is the number of the first.

    ``total`` is the number of lines of the file, None if its end was not reached. ``full`` means
    that a limit cut the page short. ``note`` says if the encoding is a guess.
    """

    first: int
    stamp: FileStamp
    lines: list[str] = field(default_factory=list)
    total: int | None = None
    note: str = ""
    full: bool = False

    @property
    def text(self) -> str:
        """The lines without numbers."""
        return "\n".join(self.lines)

    @property
    def last(self) -> int:
        """The number of the last line shown."""
        return self.first + len(self.lines) - 1


def read_page(paths: Paths, real: Path, path: str, requested: LineRange) -> Page:
    """Read the requested lines; ``path`` is what the model wrote.

    Raises:
        ToolError: the range is not in the file, or the file is binary.
    """
    loaded = load(paths, real, MAX_WHOLE_BYTES)
    page = Page(requested.start or 1, loaded.stamp)
    try:
        if loaded.whole:
            text, form = decode(loaded.data)
            page.note = form.uncertainty(path)
            lines = lines_of(text)
            page.total = len(lines)
            _check_range(requested, page.total, path)
            _fill(page, lines[page.first - 1 :], requested)
        else:
            with paths.open_read(real) as stream:
                _scan_lines(page, stream, path, requested)
    except BinaryContent as error:
        raise ToolError(
            f"{path} is a binary file ({loaded.stamp.size} bytes): {error}. Only text can be read"
        ) from error
    return page


def _check_range(requested: LineRange, total: int | None, path: str) -> None:
    length = "is long" if total is None else f"has {total} line{'' if total == 1 else 's'}"
    start, end = requested.start or 1, requested.end
    if (requested.start is not None and requested.start < 1) or (end is not None and end < 1):
        raise ToolError(f"lines are counted from 1; {path} {length}")
    if end is not None and end < start:
        raise ToolError(f"end_line {end} comes before start_line {start}; {path} {length}")
    if total and start > total:
        raise ToolError(f"start_line {start} is past the end; {path} {length}")


def _fill(page: Page, lines: Iterable[str], requested: LineRange) -> None:
    """Add lines until the range or a limit is reached; at least one line is always added."""
    remaining = requested.max_chars - CONTINUATION_NOTE_CHARS
    for number, line in enumerate(lines, page.first):
        if requested.end is not None and number > requested.end:
            return
        shown = cut(line)
        cost = len(str(number)) + len(shown) + 2
        if page.lines and (len(page.lines) >= requested.max_lines or cost > remaining):
            page.full = True
            return
        page.lines.append(shown if cost <= remaining else cut(line, max(1, remaining // 2)))
        remaining -= cost


def _scan_lines(page: Page, stream: BinaryIO, path: str, requested: LineRange) -> None:
    _check_range(requested, None, path)
    head = stream.read(SNIFF_BYTES)
    form = detect_encoding(head)
    page.note = form.uncertainty(path)
    skipped = 0
    lines = _stream_lines(stream, head[len(form.mark) :], form.encoding)
    for _ in range(page.first - 1):
        if next(lines, None) is None:
            break
        skipped += 1
    _fill(page, lines, requested)
    if page.lines:
        return
    if stream.read(1):
        raise ToolError(
            f"start_line {page.first} lies beyond the first {MAX_SCAN_BYTES // 1_000_000} MB of "
            f"{path}, which is as far as read_file looks; use grep, or a shell command"
        )
    raise ToolError(f"start_line {page.first} is past the end; {path} has {skipped} lines")


def _stream_lines(stream: BinaryIO, head: bytes, encoding: str) -> Iterator[str]:
    """The lines of at most :data:`MAX_SCAN_BYTES`; of an endless line only its beginning."""
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    rest = ""
    data = head
    left = MAX_SCAN_BYTES
    while data and left > 0:
        left -= len(data)
        *complete, tail = (rest + decoder.decode(data)).split("\n")
        yield from (line.removesuffix("\r") for line in complete)
        rest = tail[:READ_CHUNK_BYTES]
        data = stream.read(min(READ_CHUNK_BYTES, max(left, 0)))
    if rest:
        yield rest
