"""Holds back the open work of a restored home until a person releases it.

After the backup was made, its home went on: it may have sent those replies and run those jobs. To
do nothing twice, open messages, turns, questions and deliveries of a restored home get the state
``held``, which nothing processes and no one can answer, and jobs that are due are paused.
``backups/held.json`` in the home records them.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .archive import BackupError
from .contents import DATABASE

HELD_FILE = "held.json"


@dataclass(frozen=True, slots=True)
class _WorkKind:
    """The SQL for one kind of work: find what is open, hold it, and release it to its old state."""

    find: str
    hold: str
    release: str


_WORK_KINDS = {
    "messages": _WorkKind(
        """SELECT id, state FROM inbox WHERE state NOT IN ('done', 'taken', 'held')
           OR id IN (SELECT inbox_id FROM turns WHERE state = 'running')""",
        "UPDATE inbox SET state = 'held' WHERE id = ?",
        "UPDATE inbox SET state = ? WHERE id = ? AND state = 'held'",
    ),
    "turns": _WorkKind(
        "SELECT id, state FROM turns WHERE state = 'running'",
        "UPDATE turns SET state = 'held' WHERE id = ?",
        "UPDATE turns SET state = ? WHERE id = ? AND state = 'held'",
    ),
    "questions": _WorkKind(
        "SELECT id, state FROM questions WHERE state = 'open'",
        "UPDATE questions SET state = 'held' WHERE id = ?",
        "UPDATE questions SET state = ? WHERE id = ? AND state = 'held'",
    ),
    "deliveries": _WorkKind(
        "SELECT id, state FROM outbox WHERE state IN ('pending', 'sending')",
        "UPDATE outbox SET state = 'held' WHERE id = ?",
        "UPDATE outbox SET state = ? WHERE id = ? AND state = 'held'",
    ),
    "jobs": _WorkKind(
        "SELECT id, due FROM scheduler_jobs WHERE state = 'on' AND due <= :now",
        "UPDATE scheduler_jobs SET state = 'paused' WHERE id = ?",
        "UPDATE scheduler_jobs SET state = 'on', due = ? WHERE id = ? AND state = 'paused'",
    ),
}


_TABLES = {"jobs": "scheduler_jobs", "questions": "questions"}
"""The tables that a database need not have."""
_END_SESSIONS = """UPDATE sessions SET ended = :now WHERE ended IS NULL
AND id IN (SELECT session_id FROM turns WHERE state = 'running')"""


@dataclass(frozen=True, slots=True)
class HeldWork:
    """How many of each kind are held. ``str`` lists the counts; it is empty if nothing is held."""

    messages: int = 0
    turns: int = 0
    questions: int = 0
    deliveries: int = 0
    jobs: int = 0

    def __str__(self) -> str:
        counts = {name: count for name, count in asdict(self).items() if count}
        return ", ".join(
            f"{count} {name if count > 1 else _SINGULAR[name]}" for name, count in counts.items()
        )


_SINGULAR = {
    "messages": "message",
    "turns": "turn",
    "questions": "question",
    "deliveries": "delivery",
    "jobs": "job",
}


def hold_open_work(home: Path, now: float) -> HeldWork:
    """Hold the open work of ``home`` and jobs due by ``now``. No process may use the home."""
    if not (home / DATABASE).exists():
        return HeldWork()
    found_work: dict[str, list[list[Any]]] = {}
    with closing(sqlite3.connect(home / DATABASE)) as connection, connection:
        for name, kind in _WORK_KINDS.items():
            if name not in _TABLES or _has_table(connection, _TABLES[name]):
                found_work[name] = [
                    list(row) for row in connection.execute(kind.find, {"now": now})
                ]
        # A held turn may wait for a tool's result, so its session must not continue before it.
        connection.execute(_END_SESSIONS, {"now": now})
        for name, rows in found_work.items():
            connection.executemany(_WORK_KINDS[name].hold, [(id_,) for id_, _ in rows])
    held = HeldWork(**{name: len(rows) for name, rows in found_work.items()})
    if str(held):
        (home / "backups").mkdir(mode=0o700, exist_ok=True)
        (home / "backups" / HELD_FILE).touch(0o600)
        (home / "backups" / HELD_FILE).write_text(json.dumps(found_work), "utf-8")
    return held


def release_held_work(home: Path) -> HeldWork:
    """Release held work: it is sent and run when the next process starts.

    Raises :class:`BackupError` if ``held.json`` cannot be read.
    """
    path = home / "backups" / HELD_FILE
    if not path.exists():
        return HeldWork()
    try:
        found_work: Mapping[str, list[list[Any]]] = json.loads(path.read_text("utf-8"))
        with closing(sqlite3.connect(home / DATABASE)) as connection, connection:
            for name, rows in found_work.items():
                before = [(state, id_) for id_, state in rows]
                connection.executemany(_WORK_KINDS[name].release, before)
    except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
        raise BackupError(f"{path} cannot be read ({error})") from error
    path.unlink()
    return HeldWork(**{name: len(rows) for name, rows in found_work.items()})


def _has_table(connection: sqlite3.Connection, name: str) -> bool:
    query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
    return connection.execute(query, [name]).fetchone() is not None
