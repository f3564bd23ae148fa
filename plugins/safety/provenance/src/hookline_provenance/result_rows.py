"""The rows of a tool's result: what the ids in it stand for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from .values import words_of

MAX_LINE_CHARS = 200
"""Characters of a line that is taken for a row of a table, and not for prose."""
MAX_ROWS = 2_000
"""Rows of a result whose ids are looked up."""
_LABEL_KEYS = frozenset({"title", "name", "filename", "file_name", "subject", "label", "summary"})
"""Fields of a row that hold what people call it."""
_ID_KEYS = frozenset({"id", "id_", "key", "uid", "number"})


@lru_cache(64)
def result_rows(text: str) -> tuple[tuple[str, str], ...]:
    """The ids in a result with the labels of their rows: objects of JSON, or lines of text."""
    try:
        data = json.loads(text)
    except ValueError:
        rows = (line.strip() for line in text.splitlines()[:MAX_ROWS])
        lines = [line for line in rows if len(line) <= MAX_LINE_CHARS]
        return tuple((word, line) for line in lines for word in dict.fromkeys(words_of(line)))
    return tuple(_json_rows(data))


def _json_rows(data: Any) -> Iterator[tuple[str, str]]:
    if isinstance(data, list):
        for one in data[:MAX_ROWS]:
            yield from _json_rows(one)
    elif isinstance(data, dict):
        ids = [str(value) for key, value in data.items() if key in _ID_KEYS or key.endswith("_id")]
        labels = [str(value) for key, value in data.items() if key in _LABEL_KEYS and value]
        yield from [(id_, label) for id_ in ids for label in labels]
        for value in data.values():
            if isinstance(value, list | dict):
                yield from _json_rows(value)
