"""``grep``: a regular expression over the lines of many files.

The third-party ``regex`` is used because its searches take a time limit and let other threads
run; the standard library's can hang on a pattern such as ``(a|aa)+$``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import Paths, ToolError
from hookline_textmatch import lines_of

from .storedtext import SNIFFED, BinaryContent, decode, encoding_of
from .tree import Clock

if TYPE_CHECKING:
    from collections.abc import Iterable

FILE_BYTES = 10_000_000
"""Larger files are skipped and counted."""
FILE_SECONDS = 2.0
"""How long one file may take."""
PATTERN_CHARS = 2_000
"""Longest pattern."""
REPEATS = 100_000
"""Largest product of all counted repeats ``{n}``: ``regex`` unrolls them as it compiles, and a
product of 10**6 takes 300 MB."""
TEXT_CHARS = 300
"""Characters of a matching line that are shown."""

_RECURSIVE = re.compile(r"\(\?(?:R|[+-]?\d|&|P>)")
"""A pattern that calls itself or a group again: ``regex`` grows without bound on some, and no time
limit stops it."""
_BRACE = re.compile(r"(\\[pPN]\{|\\.)|\{(?!\d*,?\d*\})", re.DOTALL)
"""A brace that counts nothing. ``regex`` would take what it holds for the errors to allow."""
_COUNTED = re.compile(r"\{(\d*),?(\d*)\}")
_LINE_BOUND = re.compile(r"\(\?(?!:|P<|P=)|\(\*|[*+?}]\+|\\[AZzGKXRmM]")
"""What can match in a line alone and not in the text around it: assertions, possessive repeats,
verbs, text anchors. Every other match in a line is also one in the whole text."""


@dataclass(slots=True)
class Found:
    """Matching lines by file, and what was left out: ``more`` than the limit, files that were too
    large or took too long, and all that was not reached when the time was over (``stopped``)."""

    by_file: list[tuple[Path, list[str]]] = field(default_factory=list)
    count: int = 0
    searched: int = 0
    large: int = 0
    slow: list[Path] = field(default_factory=list)
    more: bool = False
    stopped: bool = False


class LineSearch:
    """A compiled pattern that is tried on each line.

    Raises:
        ToolError: the pattern cannot be compiled; the sentence says where.
    """

    def __init__(self, pattern: str, *, ignore_case: bool) -> None:
        import regex  # type: ignore[import-untyped]

        _require_small(pattern)
        _require_plain(pattern)
        literal = _BRACE.sub(lambda found: found[1] or r"\{", pattern)
        flags = regex.IGNORECASE if ignore_case else 0
        try:
            self._line: Any = regex.compile(literal, flags)
            whole = None if _LINE_BOUND.search(pattern) else regex.compile(literal, flags | regex.M)
        except regex.error as error:
            where = "" if error.pos is None or literal != pattern else f" at position {error.pos}"
            raise ToolError(
                f"the pattern {pattern!r} is no regular expression: {error.msg}{where}; "
                "put a backslash before characters that stand for themselves"
            ) from error
        except (RecursionError, OverflowError) as error:
            raise ToolError(
                "the pattern is nested too deeply; write it with fewer groups"
            ) from error
        self._whole: Any = whole

    def lines(self, text: str, clock: Clock) -> Iterable[tuple[int, str]]:
        """Numbers and shown text of the matching lines. Raises ``TimeoutError``."""
        lines = lines_of(text)
        # Most files hold no match at all: one call for the file instead of one a line.
        whole = self._whole
        if whole is not None and not whole.search("\n".join(lines), timeout=_left(clock)):
            return
        for number, line in enumerate(lines, 1):
            if match := self._line.search(line, timeout=_left(clock)):
                yield number, _around(line, match.start())


def search(
    paths: Paths,
    files: Iterable[Path],
    pattern: LineSearch,
    limit: int,
    clock: Clock,
    label: Callable[[Path], str],
) -> Found:
    """Try ``pattern`` on the files until ``limit`` lines were found or the time is over.

    ``label`` says how a path is shown. Binary files and those that may not be read are skipped.
    """
    found = Found()
    for file in files:
        text = _text(paths, file, found)
        if text is None:
            continue
        found.searched += 1
        rows: list[str] = []
        try:
            for number, line in pattern.lines(text, Clock(min(FILE_SECONDS, clock.left))):
                if found.count == limit:
                    found.more = True
                    break
                rows.append(f"{label(file)}:{number}: {line}")
                found.count += 1
        except (TimeoutError, MemoryError):
            found.slow.append(file)
        if rows:
            found.by_file.append((file, rows))
        found.stopped = clock.left <= 0
        if found.more or found.stopped:
            break
    return found


def _text(paths: Paths, file: Path, found: Found) -> str | None:
    try:
        with paths.open_read(file) as stream:
            data = stream.read(SNIFFED)
            encoding_of(data)
            if len(data) == SNIFFED:
                data += stream.read(FILE_BYTES + 1 - SNIFFED)
        if len(data) > FILE_BYTES:
            found.large += 1
            return None
        return decode(data)[0]
    except (OSError, BinaryContent):
        return None


def _require_small(pattern: str) -> None:
    if not pattern:
        raise ToolError("the pattern is empty; list_dir and glob show files without one")
    repeats = math.prod(
        max(1, *(int(n[:9]) for n in pair if n)) for pair in _COUNTED.findall(pattern) if any(pair)
    )
    if len(pattern) > PATTERN_CHARS or repeats > REPEATS:
        raise ToolError(
            f"the pattern is too large: at most {PATTERN_CHARS} characters, and counted repeats "
            f"like {{3,9}} whose product is at most {REPEATS}"
        )


def _require_plain(pattern: str) -> None:
    if _RECURSIVE.search(re.sub(r"\\.", "", pattern, flags=re.DOTALL)):
        raise ToolError(
            "the pattern calls itself or a group again, as (?R) or (?1) do, which can use up the "
            "memory; search for one level, or for the first line of what you look for"
        )


def _left(clock: Clock) -> float:
    left = clock.left
    if left <= 0:
        raise TimeoutError
    return left


def _around(line: str, at: int) -> str:
    if len(line) <= TEXT_CHARS:
        return line
    start = max(0, min(at - TEXT_CHARS // 3, len(line) - TEXT_CHARS))
    end = start + TEXT_CHARS
    return ("…" if start else "") + line[start:end] + ("…" if end < len(line) else "")
