"""Extracts the title from a model's answer."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from pathlib import Path

MIN_WORDS = 2
"""The model is asked for three words; in languages with long words two are enough."""
MAX_WORDS = 8
MAX_CHARS = 80
MAX_UNSPACED_CHARS = 30
"""Limit for scripts without spaces between words."""

_DATA = tomllib.loads(Path(__file__).with_name("refusals.toml").read_text(encoding="utf-8"))
_REFUSAL = re.compile("|".join(f"(?:{start})" for start in _DATA["starts"]))
_LABEL = re.compile(rf"(?:{'|'.join(map(re.escape, _DATA['labels']))})\s*[:：-]\s*", re.IGNORECASE)
_THINKING = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
_QUOTES = "\"'`“”„‚‘’«»‹›「」『』《》〈〉"
_AROUND = _QUOTES + "*_#>-–—•|~ \t"
_END = ".。!！,，;；:：…"


def parse_title(answer: str) -> str | None:
    """Return the title in ``answer``; None if it is blank, a refusal, too long or several lines.

    Quotes, markup, a label and the full stop are removed. A first line that ends in a colon is
    skipped as an introduction.
    """
    lines = [line for line in map(_normalize, _THINKING.sub("", answer).splitlines()) if line]
    if lines and lines[0].endswith((":", "：")):
        lines = lines[1:]
    if len(lines) != 1:
        return None
    title = _strip_markup(_LABEL.sub("", _strip_markup(lines[0]), count=1))
    return title if _is_title(title) else None


def _normalize(line: str) -> str:
    """Return the line with single spaces and without invisible characters."""
    visible = (" " if unicodedata.category(char)[0] in "CZ" else char for char in line)
    return " ".join("".join(visible).split())


def _strip_markup(line: str) -> str:
    """Return the line without surrounding quotes and markup, and without a final full stop."""
    while (shorter := line.strip(_AROUND).rstrip(_END)) != line:
        line = shorter
    return line


def _is_title(text: str) -> bool:
    if not any(char.isalnum() for char in text) or len(text) > MAX_CHARS:
        return False
    if _REFUSAL.match(text.casefold().replace("’", "'")):
        return False
    words = len(text.split())
    if _UNSPACED.search(text):
        return len(text) <= MAX_UNSPACED_CHARS and words <= MAX_WORDS
    return MIN_WORDS <= words <= MAX_WORDS
