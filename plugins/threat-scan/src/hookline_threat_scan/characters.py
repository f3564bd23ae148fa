"""Characters that nobody sees: which of them are ordinary where they stand, and which hide text.

Ordinary are joiners in emoji and in Indic and Arabic writing, marks of direction beside right-to-
left letters, a byte order mark, soft hyphens, a word joiner here and there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .finding import Finding

ZERO_WIDTH = "\u200b\u200c\u200d\u2060\u2061\u2062\u2063\u2064\ufeff\u180e\u034f"
FILLERS = "\u115f\u1160\u3164\uffa0\u17b4\u17b5"
MARKS = "\u200e\u200f\u061c"
BIDI = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_TAGS = "\U000e0000-\U000e007f"
INVISIBLE = re.compile(
    f"[{ZERO_WIDTH}{FILLERS}{MARKS}{BIDI}\u00ad\ufff9-\ufffb{_SELECTORS}{_TAGS}]"
)
"""All that is taken out of a text before its words are compared."""
_RUN = re.compile(f"[{ZERO_WIDTH}{FILLERS}{MARKS}]{{3,}}|[{ZERO_WIDTH}]{{2}}")
_SELECTOR_RUN = re.compile(f"[{_SELECTORS}]{{2,}}")
_TAG_RUN = re.compile(f"[{_TAGS}]+")
# Unicode Technical Standard 51, 1.4.6: a black flag, two to six letters or digits, the end tag.
_FLAG = re.compile("\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{2,6}\U000e007f")
_CONCEALED = re.compile(r"\x1b\[(?:\d{1,3};){0,6}8m|\x08{3,}")
# Scripts whose words never hold an invisible character.
_PLAIN = re.compile("[A-Za-z\u00c0-\u024f\u0370-\u052f]")
_INSIDE = re.compile(
    "(?<=[A-Za-z\u00c0-\u024f\u0370-\u052f])[\u200b\u200d\u2060-\u2064\ufeff\u180e](?=[A-Za-z\u00c0-\u024f\u0370-\u052f])"
)
MANY = 12
"""Zero-width characters in a text without a script that needs them: more carry a message."""
_NEEDS_JOINERS = re.compile(
    "[\u0600-\u08ff\u0900-\u109f\u1780-\u18af\u0e00-\u0eff\ufb50-\ufdff\ufe70-\ufeff\U0001f000-\U0001faff\u2600-\u27bf]"
)
_RIGHT_TO_LEFT = re.compile(
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
)


def find_characters(text: str) -> Iterator[Finding]:
    """Characters that hide a message or turn the order of the text, wherever they stand."""
    for found in _CONCEALED.finditer(text):
        yield _finding("invisible-text", text, found)
    if text.isascii():
        return
    yield from _tags(text)
    for found in _SELECTOR_RUN.finditer(text):
        yield _finding("invisible-text", text, found)
    yield from _directions(text)


def find_stray_characters(text: str) -> Iterator[Finding]:
    """Invisible characters where no script needs them: within words, in numbers."""
    if text.isascii():
        return
    for pattern in (_RUN, _INSIDE):
        for found in pattern.finditer(text):
            if pattern is _INSIDE or not _ordinary_run(text, found):
                yield _finding("invisible-text", text, found)
    zero_width = sum(text.count(char) for char in ZERO_WIDTH)
    if zero_width > MANY and not _NEEDS_JOINERS.search(text):
        first = re.search(f"[{ZERO_WIDTH}]", text)
        if first is not None:
            yield _finding("invisible-text", text, first)


def _tags(text: str) -> Iterator[Finding]:
    for found in _TAG_RUN.finditer(text):
        flag = found.start() and _FLAG.fullmatch(text, found.start() - 1, found.end())
        if not flag:
            yield _finding("invisible-text", text, found)


def _ordinary_run(text: str, found: re.Match[str]) -> bool:
    """True for a pair beside letters or emoji that need them, and for marks of direction."""
    near = text[max(0, found.start() - 2) : found.end() + 2]
    if len(found[0]) <= 2:
        return not _PLAIN.search(near) or found.start() == 0
    return len(found[0]) <= 3 and bool(_NEEDS_JOINERS.search(near))


def _directions(text: str) -> Iterator[Finding]:
    for found in re.finditer("[\u202d\u202e]", text):
        yield _finding("bidirectional-text", text, found)
    if not re.search(f"[{BIDI}{MARKS}]", text):
        return
    for number, line in enumerate(text.split("\n"), 1):
        problem = _disorder(line)
        if problem is not None:
            yield Finding("bidirectional-text", number, line[max(0, problem - 12) : problem + 24])


def _disorder(line: str) -> int | None:
    """Where a line opens what it does not close, or turns letters that run left to right."""
    opened: list[int] = []
    for at, char in enumerate(line):
        if char in "\u202a\u202b\u2066\u2067\u2068":
            opened.append(at)
        elif char in "\u202c\u2069":
            if not opened:
                continue
            start = opened.pop()
            if line[start] in "\u202b\u2067" and not _RIGHT_TO_LEFT.search(line, start, at):
                return start
    return opened[0] if opened and not _RIGHT_TO_LEFT.search(line) else None


def _finding(rule: str, text: str, found: re.Match[str]) -> Finding:
    return Finding.at(rule, text, max(0, found.start() - 12), found.end() + 12)
