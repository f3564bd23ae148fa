"""The way back of the last write to a database: its rows as they were, under their keys."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from hookline_hookspecs import ToolError

from .changes import Change
from .engines.base import Engine, Limits, Rows, Stop, Table, Writer


@dataclass(frozen=True, slots=True)
class Way:
    """What an UPDATE or DELETE was about: rows as they were before, and the columns of their key.

    It can be made JSON; ``why`` says why there is no way back, and is empty otherwise.
    """

    sql: str
    verb: str
    table: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    why: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON; bytes are base64."""
        return asdict(self) | {"rows": [*map(packed, self.rows)]}


def way_from(data: dict[str, Any]) -> Way:
    """Return what :meth:`Way.to_json` has written."""
    rows = tuple(tuple(_unpacked(value) for value in row) for row in data["rows"])
    lists = {"columns": tuple(data["columns"]), "key": tuple(data["key"]), "rows": rows}
    return Way(**{**data, **lists})


def packed(row: Sequence[Any]) -> list[Any]:
    """Return a row as JSON; bytes are base64."""
    return [_packed(value) for value in row]


def _packed(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode("ascii")}
    return value if value is None or isinstance(value, str | int | float) else str(value)


def _unpacked(value: Any) -> Any:
    return base64.b64decode(value["bytes"]) if isinstance(value, dict) else value


def way_back(change: Change, before: Rows | None, tables: Sequence[Table]) -> Way:
    """Return the way back of a change that was made."""
    bare = change.target.replace('"', "").replace("`", "").lower()
    table = next((one for one in tables if one.name.lower() == bare), None)
    key = tuple(name for name, _, notes in table.columns if "PK" in notes.split()) if table else ()
    why = ""
    if change.verb not in ("UPDATE", "DELETE"):
        why = f"only an UPDATE or DELETE has a way back, and the last one was {change.verb}"
    elif before is None:
        why = "its rows were not kept, since it took several tables"
    elif before.more:
        why = f"its rows were not kept whole: {before.more}"
    elif not tables:
        why = "the key of its rows could not be read before it was run"
    elif not key:
        why = f"{change.target} has no primary key, by which its rows are found again"
    elif not set(key) <= set(before.columns) or len(set(before.columns)) < len(before.columns):
        why = "the columns of its key were not among those kept"
    if why or before is None:
        return Way(change.sql, change.verb, change.target, (), (), (), why)
    return Way(change.sql, change.verb, change.target, before.columns, key, before.rows)


def go_back(engine: Engine, way: Way, limits: Limits, stop: Stop) -> int:
    """Put the rows back as they were, all or none; return how many.

    Raises ``Refused`` and ``ToolError``; then nothing was changed.
    """
    with engine.writing(limits, stop) as writer:
        for row in way.rows:
            _restore(writer, way, row)
        writer.commit()
    return len(way.rows)


def _restore(writer: Writer, way: Way, row: tuple[Any, ...]) -> None:
    quoted = {name: writer.quoted(name) for name in way.columns}
    values = dict(zip(way.columns, row, strict=True))
    if way.verb == "DELETE":
        names = ", ".join(quoted.values())
        marks = ", ".join(writer.mark for _ in row)
        sql = f"INSERT INTO {way.table} ({names}) {writer.overriding}VALUES ({marks})"
        writer.change(sql, row)
        return
    others = [name for name in way.columns if name not in way.key]
    setting = ", ".join(f"{quoted[name]} = {writer.mark}" for name in others)
    where = " AND ".join(f"{quoted[name]} = {writer.mark}" for name in way.key)
    sql = f"UPDATE {way.table} SET {setting} WHERE {where}"  # noqa: S608
    found = writer.change(sql, [values[name] for name in (*others, *way.key)])
    if found != 1:
        key = ", ".join(f"{name} = {values[name]}" for name in way.key)
        raise ToolError(f"the row with {key[:100]} is not there any more, so nothing was undone")
