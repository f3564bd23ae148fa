"""Undoes the last write to a database: its rows as they were, with their keys."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from hookline_hookspecs import ToolError

from .engines.base import (
    DatabaseEngine,
    ResultRows,
    StatementLimits,
    StopSignal,
    TableInfo,
    WriteTransaction,
)
from .write_guard import WriteStatement


@dataclass(frozen=True, slots=True)
class UndoRecord:
    """The rows of an UPDATE or DELETE as they were before, and the columns of their key.

    ``why`` says why the write cannot be undone; empty if it can.
    """

    sql: str
    verb: str
    table: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    why: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the record as JSON; bytes are base64."""
        return asdict(self) | {"rows": [*map(row_to_json, self.rows)]}


def undo_record_from(data: dict[str, Any]) -> UndoRecord:
    """Return what :meth:`Way.to_json` has written."""
    rows = tuple(tuple(_value_from_json(value) for value in row) for row in data["rows"])
    lists = {"columns": tuple(data["columns"]), "key": tuple(data["key"]), "rows": rows}
    return UndoRecord(**{**data, **lists})


def row_to_json(row: Sequence[Any]) -> list[Any]:
    """Return a row as JSON; bytes are base64."""
    return [_value_to_json(value) for value in row]


def _value_to_json(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode("ascii")}
    return value if value is None or isinstance(value, str | int | float) else str(value)


def _value_from_json(value: Any) -> Any:
    return base64.b64decode(value["bytes"]) if isinstance(value, dict) else value


def make_undo_record(
    change: WriteStatement, before: ResultRows | None, tables: Sequence[TableInfo]
) -> UndoRecord:
    """Return the record that undoes a write."""
    bare = change.target.replace('"', "").replace("`", "").lower()
    table = next((known for known in tables if known.name.lower() == bare), None)
    key = tuple(name for name, _, notes in table.columns if "PK" in notes.split()) if table else ()
    why = ""
    if change.verb not in ("UPDATE", "DELETE"):
        why = f"only an UPDATE or DELETE can be undone, and the last one was {change.verb}"
    elif before is None:
        why = "its rows were not saved, because it used several tables"
    elif before.more:
        why = f"not all of its rows were saved: {before.more}"
    elif not tables:
        why = "the key of its rows could not be read before the write"
    elif not key:
        why = f"{change.target} has no primary key to find its rows by"
    elif not set(key) <= set(before.columns) or len(set(before.columns)) < len(before.columns):
        why = "the columns of its key were not saved"
    if why or before is None:
        return UndoRecord(change.sql, change.verb, change.target, (), (), (), why)
    return UndoRecord(change.sql, change.verb, change.target, before.columns, key, before.rows)


def restore_rows(
    engine: DatabaseEngine, record: UndoRecord, limits: StatementLimits, stop: StopSignal
) -> int:
    """Restore all rows or none; return how many.

    Raises ``Refused`` and ``ToolError``; then nothing was changed.
    """
    with engine.writing(limits, stop) as writer:
        for row in record.rows:
            _restore(writer, record, row)
        writer.commit()
    return len(record.rows)


def _restore(writer: WriteTransaction, record: UndoRecord, row: tuple[Any, ...]) -> None:
    quoted = {name: writer.quoted(name) for name in record.columns}
    values = dict(zip(record.columns, row, strict=True))
    if record.verb == "DELETE":
        names = ", ".join(quoted.values())
        progress = ", ".join(writer.mark for _ in row)
        sql = f"INSERT INTO {record.table} ({names}) {writer.overriding}VALUES ({progress})"
        writer.change(sql, row)
        return
    others = [name for name in record.columns if name not in record.key]
    setting = ", ".join(f"{quoted[name]} = {writer.mark}" for name in others)
    where = " AND ".join(f"{quoted[name]} = {writer.mark}" for name in record.key)
    sql = f"UPDATE {record.table} SET {setting} WHERE {where}"  # noqa: S608
    found = writer.change(sql, [values[name] for name in (*others, *record.key)])
    if found != 1:
        key = ", ".join(f"{name} = {values[name]}" for name in record.key)
        raise ToolError(f"the row with {key[:100]} no longer exists, so nothing was undone")
