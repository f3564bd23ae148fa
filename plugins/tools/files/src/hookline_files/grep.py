"""``grep``: a regular expression over the lines of many files.

The third-party ``regex`` is used because its searches accept a timeout and do not block other
threads; those of the standard library can hang on a pattern such as ``(a|aa)+$``.
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

from .encoding import SNIFF_BYTES, BinaryContent, decode, detect_encoding
from .file_tree import Deadline

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_FILE_BYTES = 10_000_000
"""Larger files are skipped and counted."""
FILE_TIMEOUT = 2.0
"""Seconds that one file may take."""
MAX_PATTERN_CHARS = 2_000
MAX_REPEATS = 100_000
"""Largest product of all counted repeats ``{n}``. ``regex`` unrolls them when it compiles: a
product of 10**6 takes 300 MB."""
MAX_LINE_CHARS = 300
"""Characters of a matching line that are shown."""

_RECURSIVE = re.compile(r"\(\?(?:R|[+-]?\d|&|P>)")
"""A recursive pattern. Some make ``regex`` use memory without bound, and no timeout stops it."""
_LITERAL_BRACE = re.compile(r"(\\[pPN]\{|\\.)|\{(?!\d*,?\d*\})", re.DOTALL)
"""A brace that is not a repeat. ``regex`` would read it as fuzzy matching."""
_COUNTED = re.compile(r"\{(\d*),?(\d*)\}")
_LINE_BOUND = re.compile(r"\(\?(?!:|P<|P=)|\(\*|[*+?}]\+|\\[AZzGKXRmM]")
"""Constructs that may match in a single line but not in the whole text: assertions, possessive
repeats, verbs, text anchors. Every other match in a line is also a match in the whole text."""


@dataclass(slots=True)
class GrepResult:
    """Matching lines by file, and what was left out: ``more`` matches than the limit, files that
    were too ``large`` or too ``slow``, and the rest if the search ran out of time (``stopped``)."""

    by_file: list[tuple[Path, list[str]]] = field(default_factory=list)
    count: int = 0
    searched: int = 0
    large: int = 0
    slow: list[Path] = field(default_factory=list)
    more: bool = False
    stopped: bool = False


class LinePattern:
    """A compiled pattern that is searched for in each line.

    Raises:
        ToolError: the pattern cannot be compiled; the message says where.
    """

    def __init__(self, pattern: str, *, ignore_case: bool) -> None:
        import regex  # type: ignore[import-untyped]

        _check_size(pattern)
        _check_not_recursive(pattern)
        literal = _LITERAL_BRACE.sub(lambda found: found[1] or r"\{", pattern)
        flags = regex.IGNORECASE if ignore_case else 0
        try:
            self._line: Any = regex.compile(literal, flags)
            whole = None if _LINE_BOUND.search(pattern) else regex.compile(literal, flags | regex.M)
        except regex.error as error:
            where = "" if error.pos is None or literal != pattern else f" at position {error.pos}"
            raise ToolError(
                f"the pattern {pattern!r} is not a valid regular expression: {error.msg}{where}; "
                "put a backslash before literal special characters"
            ) from error
        except (RecursionError, OverflowError) as error:
            raise ToolError(
                "the pattern is nested too deeply; write it with fewer groups"
            ) from error
        self._whole: Any = whole

    def lines(self, text: str, deadline: Deadline) -> Iterable[tuple[int, str]]:
        """Number and displayed text of each matching line. Raises ``TimeoutError``."""
        lines = lines_of(text)
        # Most files have no match: one search of the whole text is faster than one for each line.
        whole = self._whole
        if whole is not None and not whole.search(
            "\n".join(lines), timeout=_seconds_left(deadline)
        ):
            return
        for number, line in enumerate(lines, 1):
            if match := self._line.search(line, timeout=_seconds_left(deadline)):
                yield number, _cut_around(line, match.start())


def grep(
    paths: Paths,
    files: Iterable[Path],
    pattern: LinePattern,
    limit: int,
    deadline: Deadline,
    label: Callable[[Path], str],
) -> GrepResult:
    """Search the files for ``pattern`` until ``limit`` lines are found or time runs out.

    ``label`` formats a path for display. Binary files and files that may not be read are skipped.
    """
    found = GrepResult()
    for file in files:
        text = _searchable_text(paths, file, found)
        if text is None:
            continue
        found.searched += 1
        rows: list[str] = []
        try:
            for number, line in pattern.lines(text, Deadline(min(FILE_TIMEOUT, deadline.left))):
                if found.count == limit:
                    found.more = True
                    break
                rows.append(f"{label(file)}:{number}: {line}")
                found.count += 1
        except (TimeoutError, MemoryError):
            found.slow.append(file)
        if rows:
            found.by_file.append((file, rows))
        found.stopped = deadline.left <= 0
        if found.more or found.stopped:
            break
    return found


def _searchable_text(paths: Paths, file: Path, found: GrepResult) -> str | None:
    try:
        with paths.open_read(file) as stream:
            data = stream.read(SNIFF_BYTES)
            detect_encoding(data)
            if len(data) == SNIFF_BYTES:
                data += stream.read(MAX_FILE_BYTES + 1 - SNIFF_BYTES)
        if len(data) > MAX_FILE_BYTES:
            found.large += 1
            return None
        return decode(data)[0]
    except (OSError, BinaryContent):
        return None


def _check_size(pattern: str) -> None:
    if not pattern:
        raise ToolError("the pattern is empty; list_dir and glob show files without one")
    repeats = math.prod(
        max(1, *(int(n[:9]) for n in pair if n)) for pair in _COUNTED.findall(pattern) if any(pair)
    )
    if len(pattern) > MAX_PATTERN_CHARS or repeats > MAX_REPEATS:
        raise ToolError(
            f"the pattern is too large: at most {MAX_PATTERN_CHARS} characters, and counted "
            f"repeats like {{3,9}} whose product is at most {MAX_REPEATS}"
        )


def _check_not_recursive(pattern: str) -> None:
    if _RECURSIVE.search(re.sub(r"\\.", "", pattern, flags=re.DOTALL)):
        raise ToolError(
            "the pattern is recursive, as (?R) or (?1) are, which can use up the memory; "
            "search for one level, or for the first line of what you look for"
        )


def _seconds_left(deadline: Deadline) -> float:
    left = deadline.left
    if left <= 0:
        raise TimeoutError
    return left


def _cut_around(line: str, at: int) -> str:
    if len(line) <= MAX_LINE_CHARS:
        return line
    start = max(0, min(at - MAX_LINE_CHARS // 3, len(line) - MAX_LINE_CHARS))
    end = start + MAX_LINE_CHARS
    return ("…" if start else "") + line[start:end] + ("…" if end < len(line) else "")
