"""Text as a full-text index can take it, whatever the database.

Tokenizers take a run of Chinese, Japanese or Korean for one word. Between such characters an
invisible separator is stored, so that each is a word of its own and a query, which is segmented
the same way, finds any part of a run as a phrase.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

SEPARATOR = "\u2063"
"""INVISIBLE SEPARATOR (8291): no letter to a tokenizer; taken out when text is read."""

_CJK = tomllib.loads(Path(__file__).with_name("characters.toml").read_text(encoding="utf-8"))["cjk"]
_BORDER = re.compile(rf"(?<=[{_CJK}])(?=[\w{_CJK}])|(?<=\w)(?=[{_CJK}])")


def segmented(text: str) -> str:
    """``text`` with separators, and without what no database can hold (NUL, half a pair)."""
    clean = text.encode("utf-8", "replace").decode().replace("\0", " ")
    return _BORDER.sub(SEPARATOR, clean.replace(SEPARATOR, ""))
