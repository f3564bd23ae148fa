"""US social security numbers in the ranges that have been issued."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .number_context import PrecedingWords, in_url, stands_alone
from .spans import Span
from .text_view import TextView

# 20 CFR 422.103 and SSA "Social Security Number Randomization": no area 000, 666 or 900 to 999, no
# group 00, no serial 0000.
_NUMBER = re.compile(
    r"(?<!\d)(?!000|666|9)\d{3}(?P<gap>[- .]?)(?!00)\d\d(?P=gap)(?!0000)\d{4}(?!\d)"
)


def find_ssns(view: TextView) -> Iterator[Span]:
    """Find numbers grouped 3-2-4, and ungrouped ones that a word identifies."""
    text = view.text
    for found in _NUMBER.finditer(text):
        start, end = found.span()
        if not stands_alone(text, start, end) or in_url(view, start):
            continue
        words = PrecedingWords.of(text, start)
        if words.mention("ssn") or (found["gap"] in ("-", " ") and not words.label_as("number")):
            yield Span(start, end, "ssn")
