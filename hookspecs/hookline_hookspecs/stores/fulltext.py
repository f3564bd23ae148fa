"""Prepares text for full-text indexes, for any database.

Tokenizers treat a run of Chinese, Japanese or Korean characters as one word. An invisible separator
is therefore stored between them, so that each character is a word. A query is segmented in the same
way and finds any part of a run as a phrase.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

SEPARATOR = "\u2063"
"""INVISIBLE SEPARATOR (8291): not a letter for tokenizers; removed when text is read."""

_CJK = tomllib.loads(Path(__file__).with_name("characters.toml").read_text(encoding="utf-8"))["cjk"]
_BORDER = re.compile(rf"(?<=[{_CJK}])(?=[\w{_CJK}])|(?<=\w)(?=[{_CJK}])")


def segmented(text: str) -> str:
    """Insert separators into ``text`` and replace what databases cannot store (NUL, surrogates)."""
    clean = text.encode("utf-8", "replace").decode().replace("\0", " ")
    return _BORDER.sub(SEPARATOR, clean.replace(SEPARATOR, ""))
