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

from .sentences import Reading, Sentence

_PAIRS = {"“": "”", "„": "“”", "«": "»", "‘": "’", "「": "」", "『": "』", "‹": "›"}
_OPEN = re.compile(r"[“„«‘「『‹\"`]|(?<!\w)'")
_SINGLE = re.compile(r"(?<!\w)'(?=\w)|(?<=[\w.!?,])'(?!\w)")
_CLAUSE = re.compile(
    r"[:;—–\n]|\s-\s|,\s{0,3}(?:but|and now|now|so|then|please|instead)\b|\b(?:but|"
    r"please|you must|you should|you will|you shall)\b"
)
_OBEY = re.compile(
    r"\b(?:follow|obey|execute|comply|carry out|perform|act on|do so|do it|do what)\b"
)
_FORBID = re.compile(
    r"(?:not|never|n.?t|refuse to|without|cannot|avoid|nicht|nie|ne|no|non|não|не)\s+(?:\w+\s+)?\Z"
)
NEAR = 220
"""Characters around a quotation in which a word says what it is."""


def is_mention(reading: Reading, sentence: Sentence, start: int, end: int) -> bool:
    """True if what stands from ``start`` to ``end`` is spoken of, not said."""
    if reading.disguised(start, end):
        return False
    return (
        is_forbidden(reading, sentence, start, end)
        or _is_expected(reading, sentence, start)
        or _is_quoted(reading, start, end)
        or _is_name(reading, sentence, end)
    )


def is_forbidden(reading: Reading, sentence: Sentence, start: int, end: int) -> bool:
    """True if a negation stands right before the words, or right behind their verb.

    A negation that is part of the verb ("do not follow", "ne tiens pas compte") is none of it.
    """
    verbs = sentence.of("dismiss")
    for event in sentence.of("negation"):
        if any(verb.start <= event.start < verb.end for verb in verbs):
            continue
        if event.start < start:
            gap = reading.text[event.end : start]
            if re.fullmatch(
                r"[\s\"'“‘«]{0,3}(?:(?!forget|hesitate|fail|only|neglect|omit)\w+\s{1,3})?(?:to\s)?",
                gap,
            ):
                return True
        elif any(verb.start == start for verb in verbs) and start < event.start < end:
            gap = reading.text[start : event.start]
            word = reading.text[event.start : event.end]
            if re.fullmatch(r"\w+\s+(?:\w+\s+)?", gap) and word not in _ENGLISH:
                return True
    return False


_ENGLISH = frozenset({"not", "never", "no", "avoid", "without"})
"""English forbids in front of the verb alone."""


def _is_expected(reading: Reading, sentence: Sentence, start: int) -> bool:
    for event in sentence.of("defend"):
        if event.end <= start + 1 and event.start < start:
            between = reading.text[event.end : start]
            quote = _OPEN.search(between[-3:])
            if not _CLAUSE.search(between if quote is None else between.replace(":", "")):
                return True
    return False


def _is_quoted(reading: Reading, start: int, end: int) -> bool:
    text = reading.text
    inside = _quotation(text, start, end)
    if inside is None:
        return False
    first, last = inside
    front = text[max(0, first - NEAR) : first]
    line = text.find("\n", last)
    behind = text[last + 1 : min(last + 1 + NEAR, line if line >= 0 else len(text))]
    words = reading.concepts(front) | reading.concepts(behind)
    return bool(words & {"mention", "defend"}) and not _is_ordered(
        front.rpartition("\n")[2], behind
    )


def _quotation(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Where the marks stand that words are between, on one line in front of them."""
    begin = max(0, start - NEAR, text.rfind("\n", 0, start) + 1)
    for mark in "“„«‘「『‹\"`'":
        closing = _PAIRS.get(mark, mark)
        first = _opened(text, begin, start, mark, closing)
        if first is not None:
            paragraph = text.find("\n\n", end)
            limit = min(len(text), end + NEAR, paragraph if paragraph >= 0 else len(text))
            last = next((at for at in range(end - 1, limit) if text[at] in closing), None)
            if last is not None and last > first:
                return first, last
    return None


def _opened(text: str, begin: int, start: int, mark: str, closing: str) -> int | None:
    """The place of a mark that was opened in front of ``start`` and is not closed there."""
    if mark == "'":
        places = [found.start() for found in _SINGLE.finditer(text, begin, start + 1)]
    elif mark == closing:
        places = [at for at in range(begin, start) if text[at] == mark]
    else:
        first = text.rfind(mark, begin, start)
        closed = first < 0 or any(char in closing for char in text[first + 1 : start])
        return None if closed else first
    return places[-1] if len(places) % 2 else None


def _is_ordered(front: str, behind: str) -> bool:
    """True if somebody is told to do what the quotation says."""
    for part in (front, behind):
        for found in _OBEY.finditer(part):
            if not _FORBID.search(part[: found.start()]):
                return True
    return False


def _is_name(reading: Reading, sentence: Sentence, end: int) -> bool:
    for event in sentence.of("marker_after"):
        if event.start >= end:
            return re.fullmatch(r"[\s\-\"'”`]{0,3}", reading.text[end : event.start]) is not None
    return False
