"""Rows as a model reads them: a Markdown table, and all of them as CSV."""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

from .engines.base import Rows, Table

CELL = 200
"""Characters of a cell that the model reads."""
SCHEMA_CHARS = 8_000
"""Characters of a schema: 2,000 tokens, four characters each."""
SCREEN_LINES, SCREEN_COLUMNS, SCREEN_CELLS = 10, 74, 10
"""What a terminal of 80 × 24 has for rows beside a statement of some lines and the answers: lines,
characters of a line, and values of a row."""
_BYTES = 32
_COLUMNS = 40


def cell(value: Any, most: int = CELL) -> str:
    """A value in one line of ``most`` characters, and how many are left out."""
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        more = f"… ({len(value):,} bytes)" if len(value) > _BYTES else ""
        return f"x'{value[:_BYTES].hex()}'{more}"
    text = value if isinstance(value, str) else str(value)
    if len(text) > most:
        left = len(text) - most + 1
        text = text[: most - 1] + (f"… ({left:,} characters left out)" if most == CELL else "…")
    return _plain(text)


def _plain(text: str) -> str:
    """The text without what would break its line or its cell."""
    return "".join(
        {"\n": "⏎", "\r": "", "\t": " ", "|": "\\|"}.get(char)
        or ("�" if unicodedata.category(char) in ("Cc", "Cs") else char)
        if char in "\n\r\t|" or not char.isprintable()
        else char
        for char in text
    )


def markdown(rows: Rows, most: int) -> str:
    """The first ``most`` rows as a table."""
    if not rows.columns:
        return "(no result)"
    lines = [_line(map(cell, rows.columns)), _line("---" for _ in rows.columns)]
    lines += [_line(map(cell, row)) for row in rows.rows[:most]]
    return "\n".join(lines)


def glimpse(rows: Rows) -> tuple[str, int]:
    """The first rows as a table that a screen of 24 lines has room for below a question, and how
    many they are. Cells are the shorter, and columns left out for ``…``, the more there are."""
    shown: list[str] = []
    for most in (CELL, 40, 12):
        head = [_short(rows.columns, most), _line("---" for _ in rows.columns[:SCREEN_CELLS])]
        shown, room = [], SCREEN_LINES - sum(map(_height, head))
        for row in rows.rows:
            line = _short(row, most)
            room -= _height(line)
            if room < 0:
                break
            shown.append(line)
        if shown:
            break
    return "\n".join([*head, *shown]), len(shown)


def _short(row: Sequence[Any], most: int) -> str:
    more = ["…"] if len(row) > SCREEN_CELLS else []
    return _line([*(cell(value, most) for value in row[:SCREEN_CELLS]), *more])


def _height(line: str) -> int:
    return -(-len(line) // SCREEN_COLUMNS)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def as_csv(rows: Rows) -> str:
    """Every fetched row; bytes are hexadecimal, NULL is empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(rows.columns)
    for row in rows.rows:
        writer.writerow(
            "" if value is None else value.hex() if isinstance(value, bytes) else value
            for value in row
        )
    return out.getvalue().encode("utf-8", "replace").decode("utf-8")


def schema(tables: Sequence[Table], like: str) -> str:
    """A line a table; where that is too long, names alone."""
    if not tables:
        return f"There is no table like {like!r}." if like else "There are no tables."
    for describe in (_whole, _names, _counted):
        lines = [describe(table) for table in tables]
        if sum(map(len, lines)) + len(lines) <= SCHEMA_CHARS:
            return "\n".join(lines)
    shown: list[str] = []
    size = 0
    for line in lines:
        size += len(line) + 1
        if size > SCHEMA_CHARS - 100:
            break
        shown.append(line)
    left = len(lines) - len(shown)
    return "\n".join([*shown, f"[… {left} more tables; name some with like, such as order%]"])


def _whole(table: Table) -> str:
    columns = ", ".join(
        " ".join(_plain(part) for part in column if part) for column in table.columns[:_COLUMNS]
    )
    return f"{_titled(table)}({columns}{_left(table)}){_estimated(table)}"


def _names(table: Table) -> str:
    names = ", ".join(_plain(column[0]) for column in table.columns[:_COLUMNS])
    return f"{_titled(table)}({names}{_left(table)})"


def _counted(table: Table) -> str:
    return f"{_titled(table)}: {len(table.columns)} columns"


def _titled(table: Table) -> str:
    return _plain(table.name) + ("" if table.kind == "table" else f" [{table.kind}]")


def _left(table: Table) -> str:
    left = len(table.columns) - _COLUMNS
    return f", … {left} more columns" if left > 0 else ""


def _estimated(table: Table) -> str:
    return f" ~{table.rows:,} rows" if table.rows >= 0 else ""
