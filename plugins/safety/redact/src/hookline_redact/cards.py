"""Payment cards: prefix and length of an issuer, and the Luhn check digit."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files

import yaml

from .number_context import PrecedingWords, stands_alone
from .spans import Span
from .text_view import TextView

# One blank, dash or dot, or one line break, between groups of digits.
_RUN = re.compile(r"(?<!\d)\d(?:\d|[ -](?=\d)|\r?\n(?=\d)|[ ]-[ ](?=\d)){11,30}(?!\d)")


def find_cards(view: TextView) -> Iterator[Span]:
    """Find card numbers, with or without spaces or dashes between groups."""
    text = view.text
    for run in _RUN.finditer(text):
        if not stands_alone(text, *run.span()):
            continue
        groups = [found.span() for found in re.finditer(r"\d+", run[0])]
        for first, last in _candidates(run[0], groups):
            start, end = run.start() + first, run.start() + last
            number = re.sub(r"\D", "", text[start:end])
            if is_card_number(number) and _is_plausible(text, start, end, number):
                yield Span(start, end, "card")
                break


def is_card_number(number: str) -> bool:
    """Whether some issuer may have issued these digits."""
    return has_luhn_digit(number) and any(
        len(number) in lengths and first <= number[: len(first)] <= last
        for first, last, lengths in _issuers()
    )


def has_luhn_digit(number: str) -> bool:
    """Whether the check digit is right: the sum of digits, every second one doubled, ends in 0
    (ISO/IEC 7812-1, annex B).
    """
    total = 0
    for index, char in enumerate(reversed(number)):
        digit = int(char) * (1 + index % 2)
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


def _candidates(run: str, groups: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Parts of a run that may be one number: first the whole, then sequences of whole groups."""
    yield 0, len(run)
    if len(groups) < 3:
        return
    for first in range(len(groups)):
        for last in range(len(groups) - 1, first, -1):
            if groups[first][1] - groups[first][0] == 4:
                yield groups[first][0], groups[last][1]


def _is_plausible(text: str, start: int, end: int, number: str) -> bool:
    """Whether digits are likely a card: short ones need a word before them, groups a usual size."""
    sizes = [len(part) for part in re.split(r"\D+", text[start:end])]
    words = PrecedingWords.of(text, start)
    if len(sizes) > 1:
        return 1 not in sizes[:-1] and (sizes[0] >= 4 or words.mention("card"))
    if words.mention("card"):
        return True
    if words.mention("number"):
        return False
    return len(number) >= 14 or (number[0] == "4" and not _is_ean(number))


def _is_ean(number: str) -> bool:
    """Whether 13 digits are a product number (GS1 General Specifications, 7.9)."""
    total = sum(int(char) * (3 if index % 2 else 1) for index, char in enumerate(number))
    return len(number) == 13 and total % 10 == 0
