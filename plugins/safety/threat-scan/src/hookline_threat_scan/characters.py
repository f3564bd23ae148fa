"""Finds invisible characters that hide text.

Some are ordinary: joiners in emoji and in Indic and Arabic writing, direction marks next to
right-to-left letters, a byte order mark, soft hyphens, a few word joiners, the tags of a flag
(Unicode Technical Standard 51, 1.4.6).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .data_files import expression
from .threat_finding import ThreatFinding

MAX_ZERO_WIDTH_CHARS = 12
"""In a text whose script does not need zero-width characters; more may carry a message."""


def find_characters(text: str) -> Iterator[ThreatFinding]:
    """Find characters that hide a message or reverse text, at any position."""
    for name in ("concealed", "tag-run", "selector-run"):
        for found in expression(name).finditer(text):
            yield _finding("invisible-text", text, found)
    for found in expression("turned").finditer(text):
        yield _finding("bidirectional-text", text, found)


def find_stray_characters(text: str) -> Iterator[ThreatFinding]:
    """Find invisible characters where no script needs them: within words, in numbers."""
    if text.isascii():
        return
    for found in expression("inside").finditer(text):
        yield _finding("invisible-text", text, found)
    for found in expression("run").finditer(text):
        if not _is_ordinary_run(text, found):
            yield _finding("invisible-text", text, found)
    zero_width = list(expression("zero-width").finditer(text))
    if len(zero_width) > MAX_ZERO_WIDTH_CHARS and not expression("needs-joiners").search(text):
        yield _finding("invisible-text", text, zero_width[0])


def _is_ordinary_run(text: str, found: re.Match[str]) -> bool:
    """Whether letters or emoji nearby need these characters, or they are direction marks."""
    near = text[max(0, found.start() - 2) : found.end() + 2]
    if len(found[0]) <= 2:
        return not expression("plain").search(near) or found.start() == 0
    return len(found[0]) <= 3 and bool(expression("needs-joiners").search(near))


def _finding(rule: str, text: str, found: re.Match[str]) -> ThreatFinding:
    return ThreatFinding.at(rule, text, max(0, found.start() - 12), found.end() + 12)
