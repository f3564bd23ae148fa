"""US social security numbers in the ranges that have been given out."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .spans import Span
from .surroundings import Words, in_url, stands_alone
from .view import View

# 20 CFR 422.103 and SSA "Social Security Number Randomization": no area 000, 666 or 900 to 999, no
# group 00, no serial 0000.
_NUMBER = re.compile(
    r"(?<!\d)(?!000|666|9)\d{3}(?P<gap>[- .]?)(?!00)\d\d(?P=gap)(?!0000)\d{4}(?!\d)"
)


def find_ssns(view: View) -> Iterator[Span]:
    """Numbers grouped 3-2-4; ungrouped ones where a word says what they are."""
    text = view.text
    for found in _NUMBER.finditer(text):
        start, end = found.span()
        if not stands_alone(text, start, end) or in_url(view, start):
            continue
        words = Words.of(text, start)
        if words.speak_of("ssn") or (found["gap"] in ("-", " ") and not words.say("number")):
            yield Span(start, end, "ssn")
