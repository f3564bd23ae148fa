"""Full text with FTS5: how text is stored, how a query is built, and the statements.

FTS5's tokenizer takes a run of Chinese, Japanese or Korean for one word. Between such characters
an invisible separator is stored, so that each is a word of its own and a query, which is
segmented the same way, finds any part of a run as a phrase.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

SEPARATOR = "\u2063"
"""INVISIBLE SEPARATOR (8291): no letter to the tokenizer; taken out when text is read."""

_CJK = (
    "\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3040-\u30ff\u3100-\u318f\u31a0-\u31bf"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc"
    "\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
_BORDER = re.compile(rf"(?<=[{_CJK}])(?=[\w{_CJK}])|(?<=\w)(?=[{_CJK}])")
_WORD_CHARACTER = re.compile(r"[^\W_]")

_STATEMENTS = {
    "create": "CREATE VIRTUAL TABLE IF NOT EXISTS {table} USING fts5"
    "(key UNINDEXED, text, tokenize = 'unicode61 remove_diacritics 2')",
    "put": "INSERT OR REPLACE INTO {table} (rowid, key, text) "
    "VALUES (key_number(:key), :key, :text)",
    "delete": "DELETE FROM {table} WHERE rowid = key_number(:key)",
    "query": "SELECT key, replace(text, char(8291), '') AS text, -rank AS score "
    "FROM {table} WHERE {table} MATCH :text ORDER BY rank LIMIT :limit",
}


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
    return {name: sql.format(table=table) for name, sql in _STATEMENTS.items()}
