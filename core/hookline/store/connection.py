"""A SQLite connection as the store's functions see it, and its errors as sentences."""

from __future__ import annotations

import hashlib
import sqlite3
import time
import tomllib
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

from hookline_hookspecs.drivers import Params
from hookline_hookspecs.errors import StoreError

Connect: TypeAlias = Callable[..., sqlite3.Connection]

BUSY_SECONDS = 10.0
"""How long a connection waits for another process's write; LIBRARIES' tried value."""

CACHED_STATEMENTS = 512

WAL_BYTES = 64 * 1024 * 1024
"""What the log beside the database is cut back to after a large transaction."""

APPLICATION_ID = 0x484F4F4B
"""``HOOK``, in the file's header, so that another program's database is not written into."""

LAYOUT = 1
"""``user_version``: how the file as a whole is kept; tables have migrations of their own."""

_MIGRATIONS = """
CREATE TABLE IF NOT EXISTS migrations (
    component TEXT NOT NULL, number INTEGER NOT NULL, name TEXT NOT NULL,
    checksum TEXT NOT NULL, applied REAL NOT NULL, PRIMARY KEY (component, number))
"""

_SENTENCES = {
    getattr(sqlite3, code): sentence
    for code, sentence in tomllib.loads(
        Path(__file__).with_name("sentences.toml").read_text(encoding="utf-8")
    ).items()
}


def store_error(path: Path, error: sqlite3.Error, sql: str = "") -> StoreError:
    """``error`` as a sentence that names the file and what to do."""
    sentence = _SENTENCES.get(_primary(error), "{path} refused a statement: {error}. {sql}")
    values = {"path": path, "error": error, "sql": " ".join(sql.split())[:200]}
    backups = path.parent / "backups"
    return StoreError(sentence.format(**values, backups=backups, seconds=BUSY_SECONDS).strip())


def _primary(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def key_number(key: str) -> int:
    """The row number of a full-text document: 63 bits of a hash of its key.

    It makes replacing a document one indexed statement; FTS5 cannot index a key by itself.
    """
    digest = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


class SqliteConnection:
    """Implements the protocol ``Connection``; belongs to the thread that made it."""

    def __init__(self, path: Path, connect: Connect) -> None:
        """Connect to ``path``. Raises ``StoreError``."""
        self.path = path
        try:
            self.raw = connect(
                str(path),
                timeout=BUSY_SECONDS,
                isolation_level=None,
                cached_statements=CACHED_STATEMENTS,
            )
            self.raw.execute("PRAGMA foreign_keys = ON")
            self.raw.create_function("key_number", 1, key_number, deterministic=True)
        except sqlite3.Error as error:
            raise store_error(path, error) from error

    def _run(self, sql: str, params: Params) -> tuple[sqlite3.Cursor, list[Any]]:
        try:
            cursor = self.raw.execute(sql, params)
            return cursor, cursor.fetchall()  # only one that is read to its end has a row count
        except sqlite3.Error as error:
            raise store_error(self.path, error, sql) from error

    def fetch(self, sql: str, params: Params = {}) -> list[Mapping[str, Any]]:  # noqa: B006
        """The rows of a query."""
        cursor, rows = self._run(sql, params)
        names = [column[0] for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in rows]

    def execute(self, sql: str, params: Params = {}) -> int:  # noqa: B006
        """Run one statement; the number of rows it touched."""
        cursor, _ = self._run(sql, params)
        return max(cursor.rowcount, 0)

    def rollback(self) -> None:
        """End whatever transaction is open; what cannot be rolled back now is tried later."""
        with suppress(sqlite3.Error):
            if self.raw.in_transaction:
                self.raw.execute("ROLLBACK")

    def close(self) -> None:
        """Disconnect."""
        self.raw.close()


def make_private(path: Path) -> None:
    """Make ``path`` (0600) and its folder (0700), unless they are there. Raises ``StoreError``."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.chmod(0o600)  # a copy that was put back may be open to everybody
    except OSError as error:
        raise StoreError(
            f"{path} cannot be written ({error.strerror}). Check the owner and the permissions of "
            "the folder, or choose another one with --home."
        ) from error


def prepare(connection: SqliteConnection) -> None:
    """Check that the file is ours and not newer than this code; set up a new one.

    Raises ``StoreError``.
    """
    path = connection.path
    _use_wal(connection)
    owner = _number(connection, "application_id")
    layout = _number(connection, "user_version")
    tables = connection.fetch("SELECT name FROM sqlite_master LIMIT 1")
    if owner not in (0, APPLICATION_ID) or (owner == 0 and tables):
        raise StoreError(f"{path} belongs to another program. Move it away, or use another home.")
    if layout > LAYOUT:
        raise StoreError(
            f"{path} is newer than this version of hookline (layout {layout}, known {LAYOUT}). "
            f"Update hookline, or restore a copy from {path.parent / 'backups'}."
        )
    if layout < LAYOUT:
        try:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {LAYOUT}")
            connection.execute(_MIGRATIONS)
            connection.execute("COMMIT")
        finally:
            connection.rollback()


def _number(connection: SqliteConnection, pragma: str) -> int:
    [row] = connection.fetch(f"PRAGMA {pragma}")
    return int(row[pragma])


def _use_wal(connection: SqliteConnection) -> None:
    """Readers and a writer at once. SQLite does not wait for others on this switch, so we do."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.raw.execute("PRAGMA journal_mode = WAL").fetchall()
            connection.raw.execute(f"PRAGMA journal_size_limit = {WAL_BYTES}").fetchall()
            return
        except sqlite3.Error as error:
            if _primary(error) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise store_error(connection.path, error) from error
            time.sleep(0.02)
