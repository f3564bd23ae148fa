"""What is open at a place in Markdown: a quotation, a table, emphasis, code, a link.

A text that is cut there must close it, and the rest must open it again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

MAX_PARAGRAPH_CHARS = 6_000
"""Characters before and after a place that are searched for what is open there."""
_QUOTE_PREFIX = re.compile(r"[ ]{0,3}(?:>[ ]?)+")
_DELIMITER_ROW = re.compile(
    r"(?:[ ]{0,3}(?:>[ ]?)+)?[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*"
)
_INDENT = re.compile(r"((?:[ ]{0,3}(?:>[ ]?)+)?)([ \t]*)")
_LIST_ITEM = re.compile(r"(?:[ ]{0,3}(?:>[ ]?)+)?([ \t]*(?:[-+*]|\d{1,9}[.)])[ \t]+)")
_UNDERLINE = re.compile(r"[ ]{0,3}(?:=+|-+)[ \t]*")
_ATOM = re.compile(
    r"\\[!-/:-@\[-`{-~]"  # escaped
    r"|(?<!`)(?P<ticks>`+)(?!`)(?:[^`]|(?!(?<!`)(?P=ticks)(?!`))`){1,3000}?(?<!`)(?P=ticks)(?!`)"
    r"|!?\[(?P<label>(?:[^\[\]\n\\]|\\.|\[[^\[\]\n]*\]){0,3000}+)\]"
    r"\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?:\s+\"[^\"\n]*\")?\)"
    r"|<https?://[^>\s]*>|https?://[^\s<>]+"
)
_EMPHASIS = tuple(
    re.compile(pattern, re.DOTALL)
    for pattern in (
        r"(?<!\*)(?P<marks>\*\*\*)(?=[^\s*]).{0,3000}?(?<=[^\s*])\*\*\*(?!\*)",
        r"(?<!\*)(?P<marks>\*\*)(?=[^\s*]).{0,3000}?(?<=[^\s*])\*\*(?!\*)",
        r"(?<!\*)(?P<marks>\*)(?=[^\s*])[^*]{0,3000}?(?<=[^\s*])\*(?!\*)",
        r"(?<![\w_])(?P<marks>__)(?=[^\s_]).{0,3000}?(?<=[^\s_])__(?![\w_])",
        r"(?<![\w_])(?P<marks>_)(?=[^\s_])[^_]{0,3000}?(?<=[^\s_])_(?![\w_])",
        r"(?<!~)(?P<marks>~~)(?=[^\s~]).{0,3000}?(?<=[^\s~])~~(?!~)",
    )
)
_BLOCK_START = re.compile(
    r"[ \t]*(?:(?P<number>\d{1,9})(?P<dot>[.)])(?=\s|$)|(?P<sign>[-+*](?=\s|$)|#{1,6}(?=\s|$)|>"
    r"|=+[ \t]*(?=\n|$)|(?:-[ \t]*){3,}(?=\n|$)|`{3}|~{3}))"
)


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a paragraph that a cut must not break.

    Both halves get ``opener`` and ``closer``; without them it cannot be cut. Of a link only the
    text can be cut, from ``start + len(opener)`` to ``label_end``.
    """

    start: int
    end: int
    opener: str = ""
    closer: str = ""
    label_end: int = 0

    def marks_at(self, place: int, longest: int) -> tuple[str, str] | None:
        """Return what closes and what opens the span again; None if it cannot be cut there."""
        if not self.opener or max(len(self.closer), len(self.opener)) > longest:
            return None
        if self.label_end and not self.start + len(self.opener) < place < self.label_end:
            return None
        return self.closer, self.opener


def starts_block(text: str, place: int) -> re.Match[str] | None:
    """Return what would become a list, heading or quotation at the start of a message."""
    return _BLOCK_START.match(text, place)


def escape_block_start(found: re.Match[str], source: str, place: int) -> str:
    """Return ``source``, which starts at ``place``, so that it starts with plain text."""
    at = (found.start("dot") if found["dot"] else found.start("sign")) - place
    return f"{source[:at]}\\{source[at:]}"


def quote_prefix(text: str, place: int) -> str:
    """Return the marks of the quotation whose line contains a place; empty outside of one."""
    start = text.rfind("\n", 0, place) + 1
    found = _QUOTE_PREFIX.match(text, start, place)
    return found[0] if found is not None and start < place else ""


def table_header(text: str, place: int) -> str:
    """Return the first two lines of the table whose rows go on at a line's start; else empty."""
    if place == 0 or text[place - 1] != "\n":
        return ""
    end = text.find("\n", place)
    if "|" not in text[place : end if end >= 0 else len(text)]:
        return ""
    before = text.rfind("\n\n", 0, place)
    first = max(before + 2 if before >= 0 else 0, place - MAX_PARAGRAPH_CHARS)
    lines = text[first:place].split("\n")[:-1]
    for header, row in pairwise(lines):
        if "|" in header and "|" in row and _DELIMITER_ROW.fullmatch(row):
            return f"{header}\n{row}\n"
    return ""


def list_margin(text: str, place: int) -> int:
    """Return the columns by which what follows a place is indented, if that is in a list; else 0.

    At the start of a message it would be code.
    """
    start = text.rfind("\n", 0, place) + 1
    first = max(0, start - MAX_PARAGRAPH_CHARS)
    if start < place:  # within a line: what follows the mark of its item
        item = _LIST_ITEM.match(text, start)
        margin = columns(item[1]) if item else indent_at(text, start)
    else:
        margin = next((found for found in _indents(text, start)), 0)
        item = None
    if item or not margin:
        return margin
    needed = margin
    for line in reversed(text[first:start].split("\n")):
        found = _INDENT.match(line)
        if found is None or not line.strip(" \t>") or columns(found[2]) >= needed:
            continue
        if _LIST_ITEM.match(line):
            return margin
        needed = columns(found[2])
    return margin if _LIST_ITEM.match(text, start) and first > 0 else 0


def indent_at(text: str, start: int) -> int:
    """Return the columns of white space at the start of a line, behind marks of a quotation."""
    found = _INDENT.match(text, start)
    return columns(found[2]) if found else 0


def dedented(line: str, margin: int) -> str:
    """Return a line without up to ``margin`` columns of white space, behind marks of a
    quotation."""
    found = _INDENT.match(line)
    assert found is not None
    space = found[2]
    most = min(len(space), margin)
    cut = next((n for n in range(most, 0, -1) if columns(space[:n]) <= margin), 0)
    return found[1] + space[cut:] + line[found.end() :]


def columns(text: str) -> int:
    """Return the width of white space, or of the mark of a list item."""
    return len(text.expandtabs(4))


def _indents(text: str, start: int) -> Iterator[int]:
    """Yield the indents of the next lines from ``start`` on that are not blank."""
    last = min(len(text), start + MAX_PARAGRAPH_CHARS)
    while start < last:
        end = newline if (newline := text.find("\n", start)) >= 0 else len(text)
        if text[start:end].strip(" \t>"):
            yield indent_at(text, start)
        start = end + 1


def belongs_to_line_before(text: str, place: int) -> bool:
    """Whether the line that starts at a place makes no sense without the one before: the second or
    third line of a table, or the line under a heading."""
    before = text[text.rfind("\n", 0, place - 1) + 1 : place - 1]
    end = text.find("\n", place)
    line = text[place : end if end >= 0 else len(text)]
    if not before.strip():
        return False
    is_delimiter = any("|" in one and _DELIMITER_ROW.fullmatch(one) for one in (before, line))
    return is_delimiter or _UNDERLINE.fullmatch(line) is not None


def spans_at(text: str, place: int) -> list[Span]:
    """Return the spans of a paragraph that contain a place, the outer ones first."""
    before, after = text.rfind("\n\n", 0, place), text.find("\n\n", place)
    first = max(0, before + 2 if before >= 0 else 0, _rounded(place - MAX_PARAGRAPH_CHARS))
    last = min(after if after >= 0 else len(text), _rounded(place + MAX_PARAGRAPH_CHARS))
    found = [
        replace(
            span,
            start=first + span.start,
            end=first + span.end,
            label_end=span.label_end and first + span.label_end,
        )
        for span in _spans(text[first:last])
    ]
    inside = [span for span in found if span.start < place < span.end]
    return sorted(inside, key=lambda span: (span.start, -span.end))


def _rounded(place: int) -> int:
    return place // 1000 * 1000


@lru_cache(maxsize=16)
def _spans(paragraph: str) -> tuple[Span, ...]:
    spans, text, masked = [], paragraph, list(paragraph)
    for found in _ATOM.finditer(paragraph):
        start, end = found.span()
        if found["label"] is None:
            marks = found["ticks"] or ""
            spans.append(Span(start, end, marks, marks))
        else:
            label, label_end = found.span("label")
            spans.append(Span(start, end, text[start:label], text[label_end:end], label_end))
        masked[found.start() : found.end()] = "x" * len(found[0])
    text = "".join(masked)
    for pattern in _EMPHASIS:
        for found in pattern.finditer(text):
            marks = found["marks"]
            spans.append(Span(found.start(), found.end(), marks, marks))
            for at in (found.start(), found.end() - len(marks)):
                masked[at : at + len(marks)] = "x" * len(marks)
        text = "".join(masked)
    return tuple(spans)
