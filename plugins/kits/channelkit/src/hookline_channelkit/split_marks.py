"""What is open at a place in Markdown: a quotation, a table, emphasis, code, a link.

A text that is cut there must close it, and the rest must open it again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

MAX_PARAGRAPH_CHARS = 6_000
"""Characters before and after a place that are searched for what is open there."""
_QUOTE_PREFIX = re.compile(r"[ ]{0,3}(?:>[ ]?)+")
_DELIMITER_ROW = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_UNDERLINE = re.compile(r"[ ]{0,3}(?:=+|-+)[ \t]*")
_ATOM = re.compile(
    r"\\[!-/:-@\[-`{-~]"  # escaped
    r"|(?<!`)(?P<ticks>`+)(?!`)(?:[^`]|(?!(?<!`)(?P=ticks)(?!`))`){1,3000}?(?<!`)(?P=ticks)(?!`)"
    r"|!?\[(?:[^\[\]\n\\]|\\.|\[[^\[\]\n]*\]){0,500}\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*"
    r"(?:\s+\"[^\"\n]*\")?\)"
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
    """A part of a paragraph. Without ``marks`` it cannot be cut; with them both halves get them."""

    start: int
    end: int
    marks: str = ""


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
    first = max(text.rfind("\n\n", 0, place) + 2, place - MAX_PARAGRAPH_CHARS, 0)
    lines = text[first:place].split("\n")[:-1]
    for header, row in pairwise(lines):
        if "|" in header and "|" in row and _DELIMITER_ROW.fullmatch(row):
            return f"{header}\n{row}\n"
    return ""


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
        Span(first + span.start, first + span.end, span.marks) for span in _spans(text[first:last])
    ]
    inside = [span for span in found if span.start < place < span.end]
    return sorted(inside, key=lambda span: (span.start, -span.end))


def _rounded(place: int) -> int:
    return place // 1000 * 1000


@lru_cache(maxsize=16)
def _spans(paragraph: str) -> tuple[Span, ...]:
    spans, masked = [], list(paragraph)
    for found in _ATOM.finditer(paragraph):
        spans.append(Span(found.start(), found.end(), found["ticks"] or ""))
        masked[found.start() : found.end()] = "x" * len(found[0])
    text = "".join(masked)
    for pattern in _EMPHASIS:
        for found in pattern.finditer(text):
            marks = found["marks"]
            spans.append(Span(found.start(), found.end(), marks))
            for at in (found.start(), found.end() - len(marks)):
                masked[at : at + len(marks)] = "x" * len(marks)
        text = "".join(masked)
    return tuple(spans)
