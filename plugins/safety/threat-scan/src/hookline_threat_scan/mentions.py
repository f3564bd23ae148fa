"""Tells sentences that mention an attack from those that carry it out.

A sentence mentions "ignore previous instructions" if

- it forbids the words ("never ignore your instructions"), or
- words before them say that they are expected, refused or found ("beware of pages that tell you to
  …", "test that … is blocked"), without a new clause between, or
- they are in quotation marks or code, a word nearby says what they are ("attack", "phrase", "such
  as"), and nothing outside the quotation says to obey them, or
- the next word makes them a name ("ignore-previous-instructions attacks").

Disguised words are never a mention: a warning has no reason to hide.
"""

from __future__ import annotations

import re

from .data_files import expression
from .vocabulary import ScannedSentence, vocabulary

MARKER_DISTANCE = 260
"""Characters around a quotation that are searched for a word that says what it is."""
_ENGLISH = frozenset({"not", "never", "no", "avoid", "without"})
"""English negations, which precede the verb."""


ABOUT_CHARS = 600
"""Characters before a finding that may say that it describes an attack."""


def is_mention(sentence: ScannedSentence, start: int, end: int) -> bool:
    """Whether the words from ``start`` to ``end`` are only mentioned."""
    return (
        _is_forbidden(sentence, start, end)
        or _is_expected(sentence, start)
        or _is_name(sentence, end)
        or is_quoted(sentence.text, start, {"mention", "attack", "defend"})
    )


def _is_forbidden(sentence: ScannedSentence, start: int, end: int) -> bool:
    """Whether a negation directly precedes the words or follows their verb.

    A negation that is part of the verb ("do not follow", "ne tiens pas compte") does not count.
    """
    verbs = sentence.of(("dismiss", "silence", "silence_whole", "unknowing"))
    for event in sentence.of(("negation",)):
        if any(verb.start <= event.start < verb.end for verb in verbs):
            continue
        if event.start < start:
            if expression("right-before").fullmatch(sentence.text, event.end, start):
                return True
        elif any(verb.start == start for verb in verbs) and event.start < end:
            gap, word = sentence.text[start : event.start], sentence.text[event.start : event.end]
            if re.fullmatch(r"\w+\s+(?:\w+\s+)?", gap) and word not in _ENGLISH:
                return True
    return False


def _is_expected(sentence: ScannedSentence, start: int) -> bool:
    gaps = sentence.gaps("defend", start + 1, MARKER_DISTANCE)
    return any(not expression("mentions-clause").search(gap) for gap in gaps)


def _is_name(sentence: ScannedSentence, end: int) -> bool:
    starts = (event.start for event in sentence.of(("marker_after",)))
    gaps = (sentence.text[end:start] for start in starts if end <= start < end + 4)
    return any(not gap.strip(" \n\t-\"'”`") for gap in gaps)


def is_quoted(text: str, start: int, concepts: set[str]) -> bool:
    """Whether the words are quoted near one of the concepts, and nothing says to obey them."""
    quotation = _quotation(text, start) or _fence(text, start)
    if quotation is None:
        return False
    first, last = quotation
    front = text[max(0, first - MARKER_DISTANCE) : first]
    behind = text[last + 1 : last + 1 + MARKER_DISTANCE].partition("\n\n")[0]
    near = vocabulary().concepts(front) | vocabulary().concepts(behind)
    if text[first : first + 1] in "\n`":
        near |= vocabulary().concepts(text[first:start])
    ordered = _is_ordered(front.rpartition("\n")[2]) or _is_ordered(behind)
    return bool(near & concepts) and not ordered


def _quotation(text: str, start: int) -> tuple[int, int] | None:
    """The range of the quotation around an index; it starts on the same line."""
    begin = max(0, start - MARKER_DISTANCE, text.rfind("\n", 0, start) + 1)
    for name in ("quotation", "quotation-double", "quotation-single"):
        for found in expression(name).finditer(text, begin, start + 4 * MARKER_DISTANCE):
            if found.start() <= start < found.end():
                return found.start(), found.end() - 1
    return None


def _fence(text: str, start: int) -> tuple[int, int] | None:
    """The range of the code block around an index."""
    marks = list(expression("fence").finditer(text, max(0, start - 4_000), start))
    if len(marks) % 2 == 0:
        return None
    end = expression("fence").search(text, start)
    return marks[-1].start(), end.end() if end is not None else len(text)


def _is_ordered(part: str) -> bool:
    """Whether a text says to do what the quotation says."""
    orders = (found.start() for found in expression("obey").finditer(part))
    return any(not expression("forbid").search(part[:at]) for at in orders)


def is_shown_as_example(text: str, start: int) -> bool:
    """Whether the words are in quotation marks, a code span, a code block or a table's row."""
    line = text[text.rfind("\n", 0, start) + 1 : start].lstrip()
    in_row = line.startswith("|") and line.count("|") > 1
    quoted = _quotation(text, start) is not None or _fence(text, start) is not None
    return in_row or quoted or is_about_attacks(text, start)


def is_about_attacks(text: str, start: int) -> bool:
    """Whether the words before say that they describe attacks, as a security guide does."""
    return expression("about-attacks").search(text, max(0, start - ABOUT_CHARS), start) is not None
