"""What only speaks of an attack: a quotation, a warning, a prohibition.

A sentence may *mention* "ignore previous instructions" and not say it. It counts as a mention if

- the words are forbidden right there ("never ignore your instructions"), or
- something in front says that they are to be expected, refused or found ("beware of pages that tell
  you to …", "test that … is blocked"), with no new clause between, or
- they stand in quotation marks or in code and a word near by says what they are ("attack",
  "phrase", "such as"), and nothing outside of the marks tells to obey them, or
- the next word makes them a name ("ignore-previous-instructions attacks").

What was disguised is no mention: nobody needs to hide a warning.
"""

from __future__ import annotations

import re

from .data import expression
from .words import Sentence, vocabulary

NEAR = 260
"""Characters around a quotation in which a word says what it is."""
_ENGLISH = frozenset({"not", "never", "no", "avoid", "without"})
"""English forbids in front of the verb alone."""


def is_mention(sentence: Sentence, start: int, end: int) -> bool:
    """True if what stands from ``start`` to ``end`` is spoken of, not said."""
    return (
        _is_forbidden(sentence, start, end)
        or _is_expected(sentence, start)
        or _is_name(sentence, end)
        or is_quoted(sentence.text, start, {"mention", "attack", "defend"})
    )


def _is_forbidden(sentence: Sentence, start: int, end: int) -> bool:
    """True if a negation stands right before the words, or right behind their verb.

    A negation that is part of the verb ("do not follow", "ne tiens pas compte") is none of it.
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


def _is_expected(sentence: Sentence, start: int) -> bool:
    gaps = sentence.gaps("defend", start + 1, NEAR)
    return any(not expression("mentions-clause").search(gap) for gap in gaps)


def _is_name(sentence: Sentence, end: int) -> bool:
    starts = (event.start for event in sentence.of(("marker_after",)))
    gaps = (sentence.text[end:start] for start in starts if end <= start < end + 4)
    return any(not gap.strip(" \n\t-\"'”`") for gap in gaps)


def is_quoted(text: str, start: int, concepts: set[str]) -> bool:
    """True for words in quotation marks or code beside one of the concepts, and not obeyed."""
    inside = _quotation(text, start) or _fence(text, start)
    if inside is None:
        return False
    first, last = inside
    front = text[max(0, first - NEAR) : first]
    behind = text[last + 1 : last + 1 + NEAR].partition("\n\n")[0]
    near = vocabulary().concepts(front) | vocabulary().concepts(behind)
    if text[first : first + 1] in "\n`":
        near |= vocabulary().concepts(text[first:start])
    ordered = _is_ordered(front.rpartition("\n")[2]) or _is_ordered(behind)
    return bool(near & concepts) and not ordered


def _quotation(text: str, start: int) -> tuple[int, int] | None:
    """Where the marks stand that a place is between, the first on the same line."""
    begin = max(0, start - NEAR, text.rfind("\n", 0, start) + 1)
    for name in ("quotation", "quotation-double", "quotation-single"):
        for found in expression(name).finditer(text, begin, start + 4 * NEAR):
            if found.start() <= start < found.end():
                return found.start(), found.end() - 1
    return None


def _fence(text: str, start: int) -> tuple[int, int] | None:
    """Where the code block that holds a place begins and ends."""
    marks = list(expression("fence").finditer(text, max(0, start - 4_000), start))
    if len(marks) % 2 == 0:
        return None
    end = expression("fence").search(text, start)
    return marks[-1].start(), end.end() if end is not None else len(text)


def _is_ordered(part: str) -> bool:
    """True if somebody is told to do what the quotation says."""
    orders = (found.start() for found in expression("obey").finditer(part))
    return any(not expression("forbid").search(part[:at]) for at in orders)
