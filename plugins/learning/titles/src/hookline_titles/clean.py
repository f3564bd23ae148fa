"""Extracts a title from a model's answer."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from pathlib import Path

LEAST_WORDS, MOST_WORDS = 2, 8
"""The fewest words of a title. Three are asked for; in languages with long words two are enough."""
MOST_CHARS = 80
"""Characters of a title."""
MOST_UNSPACED = 30
"""Characters of a title in a script without spaces between words."""

_DATA = tomllib.loads(Path(__file__).with_name("refusals.toml").read_text(encoding="utf-8"))
_REFUSAL = re.compile("|".join(f"(?:{start})" for start in _DATA["starts"]))
_LABEL = re.compile(rf"(?:{'|'.join(map(re.escape, _DATA['labels']))})\s*[:：-]\s*", re.IGNORECASE)
_THOUGHT = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
_QUOTES = "\"'`“”„‚‘’«»‹›「」『』《》〈〉"
_AROUND = _QUOTES + "*_#>-–—•|~ \t"
_END = ".。!！,，;；:：…"


def clean(answer: str) -> str | None:
    """Return the title in ``answer``; None if it is blank, a refusal, too long or more than one.

    Quotes, markup, a label before it and the full stop after it are removed. An introduction (a
    line that ends in a colon) before the title is skipped.
    """
    lines = [line for line in map(_plain, _THOUGHT.sub("", answer).splitlines()) if line]
    if lines and lines[0].endswith((":", "：")):
        lines = lines[1:]
    if len(lines) != 1:
        return None
    title = _bare(_LABEL.sub("", _bare(lines[0]), count=1))
    return title if _is_title(title) else None


def _plain(line: str) -> str:
    """Return the line with single spaces and without invisible characters."""
    seen = (" " if unicodedata.category(sign)[0] in "CZ" else sign for sign in line)
    return " ".join("".join(seen).split())


def _bare(line: str) -> str:
    """Return the line without the quotes and markup around it and without a final full stop."""
    while (shorter := line.strip(_AROUND).rstrip(_END)) != line:
        line = shorter
    return line


def _is_title(text: str) -> bool:
    if not any(sign.isalnum() for sign in text) or len(text) > MOST_CHARS:
        return False
    if _REFUSAL.match(text.casefold().replace("’", "'")):
        return False
    words = len(text.split())
    if _UNSPACED.search(text):
        return len(text) <= MOST_UNSPACED and words <= MOST_WORDS
    return LEAST_WORDS <= words <= MOST_WORDS
