"""Full-text search with FTS5: builds queries and statements."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

from hookline_hookspecs.stores import segmented

_DATA = tomllib.loads(Path(__file__).with_name("fulltext.toml").read_text(encoding="utf-8"))
_WORD_CHARACTER = re.compile(r"[^\W_]")


def query(text: str) -> str:
    """A query for all words of ``text``, taken literally; empty if it has no words."""
    words = [word for word in segmented(text).split() if _WORD_CHARACTER.search(word)]
    return " ".join('"{}"'.format(word.replace('"', '""')) for word in words)


def statements(table: str) -> Mapping[str, str]:
    """The statements ``create put delete query`` for ``table``, an identifier."""
    if not re.fullmatch(r"[A-Za-z_]\w*", table):
        raise ValueError(f"{table!r} is not a table name; use letters, digits and underscores.")
    return {name: sql.format(table=table) for name, sql in _DATA["statements"].items()}
