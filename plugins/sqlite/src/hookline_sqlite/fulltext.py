"""Full text with FTS5: how text is stored, how a query is built, and the statements.

FTS5's tokenizer takes a run of Chinese, Japanese or Korean for one word. Between such characters
an invisible separator is stored, so that each is a word of its own and a query, which is
segmented the same way, finds any part of a run as a phrase.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

SEPARATOR = "\u2063"
"""INVISIBLE SEPARATOR (8291): no letter to the tokenizer; taken out when text is read."""

_DATA = tomllib.loads(Path(__file__).with_name("fulltext.toml").read_text(encoding="utf-8"))
_BORDER = re.compile(r"(?<=[{0}])(?=[\w{0}])|(?<=\w)(?=[{0}])".format(_DATA["cjk"]))
_WORD_CHARACTER = re.compile(r"[^\W_]")


def stored(text: str) -> str:
    """``text`` as it is indexed: CJK segmented; what SQLite cannot hold is replaced."""
    clean = text.encode("utf-8", "replace").decode().replace("\0", " ")
    return _BORDER.sub(SEPARATOR, clean.replace(SEPARATOR, ""))


def query(text: str) -> str:
    """A query for every word of ``text``, each taken literally; empty if there is none."""
    words = [word for word in stored(text).split() if _WORD_CHARACTER.search(word)]
    return " ".join('"{}"'.format(word.replace('"', '""')) for word in words)


def statements(table: str) -> Mapping[str, str]:
    """``create put delete query`` for ``table``, an identifier."""
    if not re.fullmatch(r"[A-Za-z_]\w*", table):
        raise ValueError(f"{table!r} is not a table name; use letters, digits and underscores.")
    return {name: sql.format(table=table) for name, sql in _DATA["statements"].items()}
