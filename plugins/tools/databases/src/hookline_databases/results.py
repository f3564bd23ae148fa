"""Formats rows as a Markdown table or CSV, and schemas as text."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

from hookline_hookspecs.visible_text import spell_out_prose

from .engines.base import ResultRows, TableInfo

MAX_CELL_CHARS = 200
SCHEMA_CHARS = 8_000
"""About 2,000 tokens."""
# Room for rows in an approval on a terminal of 80 × 24, beside the statement and the choices.
SCREEN_LINES = 10
SCREEN_COLUMNS = 74
SCREEN_CELLS = 10
_MAX_SHOWN_BYTES = 32
_MAX_COLUMNS = 40
_IN_A_CELL = str.maketrans({"\n": "⏎", "\r": "", "\t": " ", "|": "\\|"})


def cell(value: Any, limit: int = MAX_CELL_CHARS) -> str:
    """A value in one line of ``limit`` characters, with the number of characters left out."""
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        more = f"… ({len(value):,} bytes)" if len(value) > _MAX_SHOWN_BYTES else ""
        return f"x'{value[:_MAX_SHOWN_BYTES].hex()}'{more}"
    text = value if isinstance(value, str) else str(value)
    if len(text) > limit:
        left = len(text) - limit + 1
        text = text[: limit - 1] + (
            f"… ({left:,} characters left out)" if limit == MAX_CELL_CHARS else "…"
        )
    return _escape(text)


def _escape(text: str) -> str:
    """The text without characters that would break its line or cell, or that cannot be seen."""
    return spell_out_prose(text.translate(_IN_A_CELL))


def markdown_table(rows: ResultRows, limit: int) -> str:
    """The first ``limit`` rows as a table."""
    if not rows.columns:
        return "(no result)"
    lines = [_join_cells(map(cell, rows.columns)), _join_cells("---" for _ in rows.columns)]
    lines += [_join_cells(map(cell, row)) for row in rows.rows[:limit]]
    return "\n".join(lines)


def preview_rows(rows: ResultRows) -> tuple[str, int]:
    """The first rows as a table that fits on a screen of 24 lines with the approval, and their
    number. With more columns, cells get shorter and columns are replaced by ``…``."""
    shown: list[str] = []
    for limit in (MAX_CELL_CHARS, 40, 12):
        head = [
            _row_line(rows.columns, limit),
            _join_cells("---" for _ in rows.columns[:SCREEN_CELLS]),
        ]
        shown, room = [], SCREEN_LINES - sum(map(_screen_lines, head))
        for row in rows.rows:
            line = _row_line(row, limit)
            room -= _screen_lines(line)
            if room < 0:
                break
            shown.append(line)
        if shown:
            break
    return "\n".join([*head, *shown]), len(shown)


def _row_line(row: Sequence[Any], limit: int) -> str:
    more = ["…"] if len(row) > SCREEN_CELLS else []
    return _join_cells([*(cell(value, limit) for value in row[:SCREEN_CELLS]), *more])


def _screen_lines(line: str) -> int:
    return -(-len(line) // SCREEN_COLUMNS)


def _join_cells(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def as_csv(rows: ResultRows) -> str:
    """All fetched rows; bytes are hexadecimal, NULL is empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(rows.columns)
    for row in rows.rows:
        writer.writerow(
            "" if value is None else value.hex() if isinstance(value, bytes) else value
            for value in row
        )
    return out.getvalue().encode("utf-8", "replace").decode("utf-8")


def format_schema(tables: Sequence[TableInfo], like: str) -> str:
    """One line for each table; only names if that is too long."""
    if not tables:
        return f"No table matches {like!r}." if like else "There are no tables."
    for describe in (_with_types, _with_names, _with_count):
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


def _with_types(table: TableInfo) -> str:
    columns = ", ".join(
        " ".join(_escape(part) for part in column if part)
        for column in table.columns[:_MAX_COLUMNS]
    )
    return f"{_title(table)}({columns}{_more_columns(table)}){_row_estimate(table)}"


def _with_names(table: TableInfo) -> str:
    names = ", ".join(_escape(column[0]) for column in table.columns[:_MAX_COLUMNS])
    return f"{_title(table)}({names}{_more_columns(table)})"


def _with_count(table: TableInfo) -> str:
    return f"{_title(table)}: {len(table.columns)} columns"


def _title(table: TableInfo) -> str:
    return _escape(table.name) + ("" if table.kind == "table" else f" [{table.kind}]")


def _more_columns(table: TableInfo) -> str:
    left = len(table.columns) - _MAX_COLUMNS
    return f", … {left} more columns" if left > 0 else ""


def _row_estimate(table: TableInfo) -> str:
    return f" ~{table.rows:,} rows" if table.rows >= 0 else ""
