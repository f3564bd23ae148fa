"""Full-text search with ``tsvector``: queries and statements.

The configuration ``simple`` is independent of language, like FTS5's tokenizer. Diacritics are
removed from text and query, and characters other than letters and digits separate words.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Mapping
from pathlib import Path

from hookline_hookspecs.stores import segmented

_DATA = tomllib.loads(Path(__file__).with_name("fulltext.toml").read_text(encoding="utf-8"))


def query(text: str) -> str:
    """A ``tsquery`` for all words of ``text``, taken literally; empty if there are none."""
    phrases = (_lexemes(word) for word in segmented(text).split())
    return " & ".join(f"({' <-> '.join(phrase)})" for phrase in phrases if phrase)


def _lexemes(word: str) -> list[str]:
    bare = re.sub(r"[\u0300-\u036f]", "", unicodedata.normalize("NFKD", word.lower()))
    return [f"'{part}'" for part in re.sub(r"[\W_]+", " ", bare).split()]


def statements(table: str) -> Mapping[str, str]:
    """``create put delete query`` for ``table``, an identifier."""
    if not re.fullmatch(r"[A-Za-z_]\w*", table):
        raise ValueError(f"{table!r} is not a table name; use letters, digits and underscores.")
    words = _DATA["words"].format(column="text")
    return {name: sql.format(table=table, words=words) for name, sql in _DATA["statements"].items()}
