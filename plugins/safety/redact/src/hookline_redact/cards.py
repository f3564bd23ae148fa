"""Payment cards: a prefix and a length that an issuer has, and the Luhn check digit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files

import yaml

from .spans import Span
from .surroundings import Words, stands_alone
from .view import View

# One blank, dash or dot, or one line break, between groups of digits.
_RUN = re.compile(r"(?<!\d)\d(?:\d|[ -](?=\d)|\r?\n(?=\d)|[ ]-[ ](?=\d)){11,30}(?!\d)")


def find_cards(view: View) -> Iterator[Span]:
    """The numbers, with blanks or dashes between groups or without."""
    text = view.text
    for run in _RUN.finditer(text):
        if not stands_alone(text, *run.span()):
            continue
        groups = [found.span() for found in re.finditer(r"\d+", run[0])]
        for first, last in _windows(run[0], groups):
            start, end = run.start() + first, run.start() + last
            number = re.sub(r"\D", "", text[start:end])
            if is_card(number) and _plausible(text, start, end, number):
                yield Span(start, end, "card")
                break


def is_card(number: str) -> bool:
    """True for digits that some issuer can have given out."""
    return luhn(number) and any(
        len(number) in lengths and first <= number[: len(first)] <= last
        for first, last, lengths in _issuers()
    )


def luhn(number: str) -> bool:
    """ISO/IEC 7812-1, annex B: the sum of digits, every second one doubled, ends in 0."""
    total = 0
    for place, char in enumerate(reversed(number)):
        digit = int(char) * (1 + place % 2)
        total += digit - 9 if digit > 9 else digit
    return total % 10 == 0


@cache
def _issuers() -> Sequence[tuple[str, str, frozenset[int]]]:
    """Rows of first prefix, last prefix and lengths."""
    rows = yaml.load(
        (files(__package__) / "issuers.yaml").read_text("utf-8"), Loader=yaml.CSafeLoader
    )
    return [
        (str(first), str(last), frozenset(row["lengths"]))
        for row in rows
        for first, last in row["ranges"]
    ]


def _windows(run: str, groups: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Parts of a run that may be one number: the whole first, then runs of whole groups."""
    yield 0, len(run)
    if len(groups) < 3:
        return
    for first in range(len(groups)):
        for last in range(len(groups) - 1, first, -1):
            if groups[first][1] - groups[first][0] == 4:
                yield groups[first][0], groups[last][1]


def _plausible(text: str, start: int, end: int, number: str) -> bool:
    """Digits alone are many things: short ones need a word near by, groups need a shape."""
    sizes = [len(part) for part in re.split(r"\D+", text[start:end])]
    words = Words.of(text, start)
    if len(sizes) > 1:
        return 1 not in sizes[:-1] and (sizes[0] >= 4 or words.speak_of("card"))
    if words.speak_of("card"):
        return True
    if words.speak_of("number"):
        return False
    return len(number) >= 14 or (number[0] == "4" and not _is_ean(number))


def _is_ean(number: str) -> bool:
    """True for 13 digits that are an article's number (GS1 General Specifications, 7.9)."""
    total = sum(int(char) * (3 if place % 2 else 1) for place, char in enumerate(number))
    return len(number) == 13 and total % 10 == 0
