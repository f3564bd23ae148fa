"""The part of a file that ``read_file`` shows."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from hookline_hookspecs import Paths, ToolError
from hookline_textmatch import cut, lines_of

from .disk import CHUNK, Stamp, load
from .storedtext import SNIFFED, BinaryContent, decode, encoding_of

WHOLE_BYTES = 10_000_000
"""Up to this size a file is read whole; a larger one is looked through from its start."""
SCANNED_BYTES = 256_000_000
"""How far into a large file ``read_file`` looks."""
NOTE_CHARS = 200
"""Room that is kept for the sentence on how to go on."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The range asked for (from 1, inclusive; None = open) and the limits of one answer."""

    start: int | None
    end: int | None
    max_lines: int
    max_chars: int


@dataclass(slots=True)
class Page:
    """Consecutive lines of a file, cut for display. ``first`` is the number of the first.

    ``total`` is the number of lines of the file, None where its end was not reached.
    """

    first: int
    stamp: Stamp
    lines: list[str] = field(default_factory=list)
    total: int | None = None
    full: bool = False

    @property
    def text(self) -> str:
        """The lines without numbers."""
        return "\n".join(self.lines)

    @property
    def last(self) -> int:
        """The number of the last line shown."""
        return self.first + len(self.lines) - 1


def read_page(paths: Paths, real: Path, path: str, wanted: Wanted) -> Page:
    """Read what was asked for; ``path`` is what the model wrote.

    Raises:
        ToolError: the range is not in the file, or the file is binary.
    """
    loaded = load(paths, real, WHOLE_BYTES)
    page = Page(wanted.start or 1, loaded.stamp)
    try:
        if loaded.whole:
            lines = lines_of(decode(loaded.data)[0])
            page.total = len(lines)
            _check(wanted, page.total, path)
            _fill(page, lines[page.first - 1 :], wanted)
        else:
            with paths.open_read(real) as stream:
                _look_through(page, stream, path, wanted)
    except BinaryContent as error:
        raise ToolError(
            f"{path} is a binary file ({loaded.stamp.size} bytes): {error}. Only text can be read"
        ) from error
    return page


def _check(wanted: Wanted, total: int | None, path: str) -> None:
    length = "is long" if total is None else f"has {total} line{'' if total == 1 else 's'}"
    start, end = wanted.start or 1, wanted.end
    if (wanted.start is not None and wanted.start < 1) or (end is not None and end < 1):
        raise ToolError(f"lines are counted from 1; {path} {length}")
    if end is not None and end < start:
        raise ToolError(f"end_line {end} comes before start_line {start}; {path} {length}")
    if total and start > total:
        raise ToolError(f"start_line {start} is past the end; {path} {length}")


def _fill(page: Page, lines: Iterable[str], wanted: Wanted) -> None:
    """Add lines until the range or the room ends; at least one is always shown."""
    room = wanted.max_chars - NOTE_CHARS
    for number, line in enumerate(lines, page.first):
        if wanted.end is not None and number > wanted.end:
            return
        shown = cut(line)
        cost = len(str(number)) + len(shown) + 2
        if page.lines and (len(page.lines) >= wanted.max_lines or cost > room):
            page.full = True
            return
        page.lines.append(shown if cost <= room else cut(line, max(1, room // 2)))
        room -= cost


def _look_through(page: Page, stream: BinaryIO, path: str, wanted: Wanted) -> None:
    _check(wanted, None, path)
    head = stream.read(SNIFFED)
    encoding, mark = encoding_of(head)
    skipped = 0
    lines = _stream_lines(stream, head[len(mark) :], encoding)
    for _ in range(page.first - 1):
        if next(lines, None) is None:
            break
        skipped += 1
    _fill(page, lines, wanted)
    if page.lines:
        return
    if stream.read(1):
        raise ToolError(
            f"start_line {page.first} lies beyond the first {SCANNED_BYTES // 1_000_000} MB of "
            f"{path}, which is as far as read_file looks; use grep, or a shell command"
        )
    raise ToolError(f"start_line {page.first} is past the end; {path} has {skipped} lines")


def _stream_lines(stream: BinaryIO, head: bytes, encoding: str) -> Iterator[str]:
    """The lines of at most :data:`SCANNED_BYTES`; of an endless line only its beginning."""
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    rest = ""
    data, left = head, SCANNED_BYTES
    while data and left > 0:
        left -= len(data)
        *complete, tail = (rest + decoder.decode(data)).split("\n")
        yield from (line.removesuffix("\r") for line in complete)
        rest = tail[:CHUNK]
        data = stream.read(min(CHUNK, max(left, 0)))
    if rest:
        yield rest
