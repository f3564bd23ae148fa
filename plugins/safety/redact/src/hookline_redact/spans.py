"""Kinds of secrets, their spans in a text, and placeholders."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

Kind: TypeAlias = Literal[
    "private_key", "jwt", "api_key", "url_password", "token", "email", "card", "ssn", "phone"
]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""All kinds, the most specific first. Overlapping spans become one of the more specific kind."""

PLACEHOLDER = re.compile(r"\[REDACTED:[a-z_]{3,12}\]")


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A secret of this kind, from ``start`` up to but not including ``end``."""

    start: int
    end: int
    kind: Kind


def merge_spans(spans: Iterable[Span]) -> list[Span]:
    """The spans in order; overlapping ones become one span of the more specific kind."""
    found: list[Span] = []
    for span in sorted(spans):
        if found and span.start < found[-1].end:
            last = found.pop()
            kind = min(last.kind, span.kind, key=KINDS.index)
            span = Span(last.start, max(last.end, span.end), kind)
        found.append(span)
    return found


def exclude_placeholders(spans: Iterable[Span], text: str) -> list[Span]:
    """Drop spans that hold only placeholders, and widen spans that end inside one.

    This keeps existing placeholders as they are.
    """
    spans = list(spans)
    placeholders = [found.span() for found in PLACEHOLDER.finditer(text)] if spans else []
    if not placeholders:
        return spans
    widened = (_widen(span, placeholders, text) for span in spans)
    return [span for span in widened if span is not None]


def _widen(span: Span, placeholders: list[tuple[int, int]], text: str) -> Span | None:
    """The span with the placeholders it overlaps; None if nothing else is in it."""
    overlapping = _overlapping(placeholders, span.start, span.end)
    if not overlapping:
        return span
    start, end = min(span.start, overlapping[0][0]), max(span.end, overlapping[-1][1])
    between, at = [], start
    for first, last in overlapping:
        between.append(text[at:first])
        at = last
    between.append(text[at:end])
    if not any(char.isalnum() for char in "".join(between)):
        return None
    return Span(start, end, span.kind)


def _overlapping(ranges: list[tuple[int, int]], start: int, end: int) -> list[tuple[int, int]]:
    first = bisect_left(ranges, (start, 0))
    if first and ranges[first - 1][1] > start:
        first -= 1
    last = first
    while last < len(ranges) and ranges[last][0] < end:
        last += 1
    return ranges[first:last]
