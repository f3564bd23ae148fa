"""What was open when a backup was made, and must not be done twice: held until somebody says so.

Since the backup, the home that it was made of has gone on: its replies were delivered and its jobs
have run. So a restored home sends and runs nothing from before by itself. Open messages, turns and
deliveries get the state ``held``, which nothing takes up, and jobs that are due are paused; what
was held is noted in ``held.json`` in the home's folder ``backups``.
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

HELD = "held.json"


@dataclass(frozen=True, slots=True)
class _Kind:
    """The statements for one kind: what is open, with what is needed to let it go on."""

    find: str
    hold: str
    release: str


_KINDS = {
    "messages": _Kind(
        """SELECT id, state FROM inbox WHERE state NOT IN ('done', 'taken', 'held')
           OR id IN (SELECT inbox_id FROM turns WHERE state = 'running')""",
        "UPDATE inbox SET state = 'held' WHERE id = ?",
        "UPDATE inbox SET state = ? WHERE id = ? AND state = 'held'",
    ),
    "turns": _Kind(
        "SELECT id, state FROM turns WHERE state = 'running'",
        "UPDATE turns SET state = 'held' WHERE id = ?",
        "UPDATE turns SET state = ? WHERE id = ? AND state = 'held'",
    ),
    "deliveries": _Kind(
        "SELECT id, state FROM outbox WHERE state IN ('pending', 'sending')",
        "UPDATE outbox SET state = 'held' WHERE id = ?",
        "UPDATE outbox SET state = ? WHERE id = ? AND state = 'held'",
    ),
    "jobs": _Kind(
        "SELECT id, due FROM scheduler_jobs WHERE state = 'on' AND due <= :now",
        "UPDATE scheduler_jobs SET state = 'paused' WHERE id = ?",
        "UPDATE scheduler_jobs SET state = 'on', due = ? WHERE id = ? AND state = 'paused'",
    ),
}


_END_SESSIONS = """UPDATE sessions SET ended = :now WHERE ended IS NULL
AND id IN (SELECT session_id FROM turns WHERE state = 'running')"""


@dataclass(frozen=True, slots=True)
class Held:
    """How many of each kind are held. ``str`` tells those that there are; it may be empty."""

    messages: int = 0
    turns: int = 0
    deliveries: int = 0
    jobs: int = 0

    def __str__(self) -> str:
        counts = {name: count for name, count in asdict(self).items() if count}
        return ", ".join(
            f"{count} {name if count > 1 else _ONE[name]}" for name, count in counts.items()
        )


_ONE = {"messages": "message", "turns": "turn", "deliveries": "delivery", "jobs": "job"}


def hold(home: Path, now: float) -> Held:
    """Hold what is open in the database of ``home``, which no process uses; jobs due by ``now``."""
    if not (home / DATABASE).exists():
        return Held()
    noted: dict[str, list[list[Any]]] = {}
    with closing(sqlite3.connect(home / DATABASE)) as connection, connection:
        for name, kind in _KINDS.items():
            if name != "jobs" or _has_jobs(connection):
                noted[name] = [list(row) for row in connection.execute(kind.find, {"now": now})]
        # A held turn may wait for a tool's result: nothing may come between in its session.
        connection.execute(_END_SESSIONS, {"now": now})
        for name, rows in noted.items():
            connection.executemany(_KINDS[name].hold, [(id_,) for id_, _ in rows])
    held = Held(**{name: len(rows) for name, rows in noted.items()})
    if str(held):
        (home / "backups").mkdir(mode=0o700, exist_ok=True)
        (home / "backups" / HELD).touch(0o600)
        (home / "backups" / HELD).write_text(json.dumps(noted), "utf-8")
    return held


def resend(home: Path) -> Held:
    """Let what is held go on: it is sent and run when the next process starts.

    Raises :class:`BackupError` if ``held.json`` cannot be read.
    """
    path = home / "backups" / HELD
    if not path.exists():
        return Held()
    try:
        noted: Mapping[str, list[list[Any]]] = json.loads(path.read_text("utf-8"))
        with closing(sqlite3.connect(home / DATABASE)) as connection, connection:
            for name, rows in noted.items():
                before = [(state, id_) for id_, state in rows]
                connection.executemany(_KINDS[name].release, before)
    except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
        raise BackupError(f"{path} cannot be read ({error})") from error
    path.unlink()
    return Held(**{name: len(rows) for name, rows in noted.items()})


def _has_jobs(connection: sqlite3.Connection) -> bool:
    named = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'scheduler_jobs'"
    return connection.execute(named).fetchone() is not None
