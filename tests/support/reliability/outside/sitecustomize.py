"""Makes the disk of a process fail while the file named by ``HARNESS_DISK`` says so.

The file holds ``ok``, or ``io N`` (each statement that writes fails with an I/O error once in N),
or ``full`` (every one fails, as on a full disk). ``HARNESS_CHECKPOINT`` names a file: a second
thread then checkpoints the database without pause and writes ``1`` there while it does.
"""

from __future__ import annotations

import os
import random
import sqlite3
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

_disk = os.environ.get("HARNESS_DISK")
_mark = os.environ.get("HARNESS_CHECKPOINT")
_random = random.Random(os.getpid())
_connect = sqlite3.connect
_WRITES = ("BEGIN IMMEDIATE", "COMMIT", "INSERT", "UPDATE", "DELETE", "RELEASE")


def _fault() -> tuple[int, str] | None:
    with suppress(OSError, ValueError):
        kind, _, odds = Path(str(_disk)).read_text().partition(" ")
        if kind == "full":
            return sqlite3.SQLITE_FULL, "database or disk is full"
        if kind == "io" and _random.randrange(int(odds)) == 0:
            return sqlite3.SQLITE_IOERR, "disk I/O error"
    return None


class _Connection(sqlite3.Connection):
    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
        fault = _fault() if sql.lstrip().upper().startswith(_WRITES) else None
        if fault is None:
            return super().execute(sql, *values)
        if self.in_transaction:
            super().execute("ROLLBACK")
        error = sqlite3.OperationalError(fault[1])
        error.sqlite_errorcode = fault[0]
        raise error


def _checkpoint(path: Path, mark: Path) -> None:
    """Checkpoint again and again, as soon as there is something to write back."""
    with mark.open("r+b", buffering=0) as flag:
        while not path.exists():
            time.sleep(0.05)
        connection = _connect(path, timeout=10, check_same_thread=False)
        while True:
            with suppress(sqlite3.Error):
                flag.seek(0)
                flag.write(b"1")
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            flag.seek(0)
            flag.write(b"0")
            time.sleep(0.002)


if _disk:

    def _failing(*args: Any, **options: Any) -> Any:
        return _connect(*args, **{"factory": _Connection, **options})

    sqlite3.connect = _failing
if _mark:
    _database = Path(os.environ["HOOKLINE_HOME"]) / "hookline.db"
    threading.Thread(target=_checkpoint, args=(_database, Path(_mark)), daemon=True).start()
