"""What was found where: kinds of secrets, spans of a text, and their placeholders."""

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
"""All kinds. Where two findings overlap, the kind that stands first here names the whole."""

PLACEHOLDER = re.compile(r"\[REDACTED:[a-z_]{3,12}\]")


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Characters ``start`` to ``end`` (not included) are a secret of this kind."""

    start: int
    end: int
    kind: Kind


def merged(spans: Iterable[Span]) -> list[Span]:
    """The spans in order, overlapping ones as one of the more specific kind."""
    found: list[Span] = []
    for span in sorted(spans):
        if found and span.start < found[-1].end:
            last = found.pop()
            kind = min(last.kind, span.kind, key=KINDS.index)
            span = Span(last.start, max(last.end, span.end), kind)
        found.append(span)
    return found


def around_placeholders(spans: Iterable[Span], text: str) -> list[Span]:
    """The spans without those that hold nothing but placeholders; none ends inside of one.

    So what was replaced once stays as it is.
    """
    spans = list(spans)
    taken = [found.span() for found in PLACEHOLDER.finditer(text)] if spans else []
    if not taken:
        return spans
    return [wide for span in spans if (wide := _apart(span, taken, text)) is not None]


def _apart(span: Span, taken: list[tuple[int, int]], text: str) -> Span | None:
    start, end = span.start, span.end
    touched = _touched(taken, start, end)
    if not touched:
        return span
    start, end = min(start, touched[0][0]), max(end, touched[-1][1])
    rest, at = [], start
    for first, last in touched:
        rest.append(text[at:first])
        at = last
    rest.append(text[at:end])
    if not any(char.isalnum() for char in "".join(rest)):
        return None
    return Span(start, end, span.kind)


def _touched(taken: list[tuple[int, int]], start: int, end: int) -> list[tuple[int, int]]:
    first = bisect_left(taken, (start, 0))
    if first and taken[first - 1][1] > start:
        first -= 1
    last = first
    while last < len(taken) and taken[last][0] < end:
        last += 1
    return taken[first:last]
