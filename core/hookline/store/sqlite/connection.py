"""A SQLite connection, and its errors as sentences."""

from __future__ import annotations

import hashlib
import sqlite3
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

from hookline_hookspecs.drivers import Params
from hookline_hookspecs.errors import StoreError

Connect: TypeAlias = Callable[..., sqlite3.Connection]

BUSY_SECONDS = 10.0
"""Seconds that a connection waits for another process's write."""

OPTIONS = {"timeout": BUSY_SECONDS, "isolation_level": None, "cached_statements": 512}
"""Transactions are begun explicitly. The cache is large enough for the queries of many plugins."""

WAL_BYTES = 64 * 1024 * 1024
"""Size to which the write-ahead log is truncated after a large transaction."""

APPLICATION_ID = 0x484F4F4B
"""The id in the file's header (see ``setup.sql``), so that no other program's file is changed."""

_SETUP = Path(__file__).with_name("setup.sql").read_text(encoding="utf-8")
_SENTENCES = {
    getattr(sqlite3, code): sentence
    for code, sentence in tomllib.loads(
        Path(__file__).with_name("sentences.toml").read_text(encoding="utf-8")
    ).items()
}


def store_error(path: Path, error: sqlite3.Error | OSError, sql: str = "") -> StoreError:
    """Convert ``error`` to a sentence that names the file and says what to do."""
    unknown = sqlite3.SQLITE_PERM if isinstance(error, OSError) else sqlite3.SQLITE_ERROR
    code = getattr(error, "sqlite_errorcode", unknown) & 0xFF
    values: dict[str, object] = {"path": path, "error": error, "sql": " ".join(sql.split())[:200]}
    sentence = _SENTENCES.get(code, "{path} refused a statement: {error}. {sql}")
    backups = path.parent / "backups"
    return StoreError(sentence.format(**values, backups=backups, seconds=BUSY_SECONDS).strip())


def key_number(key: str) -> int:
    """The row number of a full-text document: 63 bits of a hash of its key.

    With it, replacing a document is one indexed statement; FTS5 cannot index a key by itself.
    """
    digest = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


class SqliteConnection:
    """Implements the protocol ``Connection``; one thread uses it at a time."""

    def __init__(self, path: Path, connect: Connect) -> None:
        """Connect to ``path``. Raises ``StoreError``."""
        self.path = path
        try:
            self.raw = connect(path, check_same_thread=False, **OPTIONS)
            self.raw.execute("PRAGMA foreign_keys = ON")
            self.raw.create_function("key_number", 1, key_number, deterministic=True)
        except sqlite3.Error as error:
            raise store_error(path, error) from error

    def _run(self, sql: str, params: Params) -> tuple[sqlite3.Cursor, list[Any]]:
        try:
            cursor = self.raw.execute(sql, params)
            return cursor, cursor.fetchall()  # the row count is only known at the end
        except sqlite3.Error as error:
            raise store_error(self.path, error, sql) from error

    def fetch(self, sql: str, params: Params = {}) -> list[Mapping[str, Any]]:  # noqa: B006
        """The rows of a query."""
        cursor, rows = self._run(sql, params)
        names = [column[0] for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in rows]

    def execute(self, sql: str, params: Params = {}) -> int:  # noqa: B006
        """Run one statement and return the number of affected rows."""
        return max(self._run(sql, params)[0].rowcount, 0)

    def batch(self, statements: Sequence[tuple[str, Params]]) -> list[int]:
        """Run statements in order and return the number of rows that each affected."""
        return [self.execute(sql, params) for sql, params in statements]

    def rollback(self) -> None:
        """Roll back the open transaction, if any. Errors are ignored; it is tried again later."""
        with suppress(sqlite3.Error):
            if self.raw.in_transaction:
                self.raw.execute("ROLLBACK")

    def close(self) -> None:
        """Disconnect."""
        self.raw.close()


def make_private(path: Path) -> None:
    """Create ``path`` (mode 0600) and its folder (0700) if missing. Raises ``StoreError``."""
    if path.exists() and not path.is_file():
        raise StoreError(f"{path} is not a file but a folder or a pipe. Move it away.")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.chmod(0o600)  # a restored copy may be readable by others
    except OSError as error:
        raise store_error(path, error) from error


def prepare(connection: SqliteConnection) -> None:
    """Check that the file is Hookline's, and set up a new one. Raises ``StoreError``."""
    [row] = connection.fetch("PRAGMA application_id")
    owner, path = row["application_id"], connection.path
    if owner != APPLICATION_ID and (owner or connection.fetch("SELECT 1 FROM sqlite_master")):
        raise StoreError(f"{path} belongs to another program. Move it away, or use another home.")
    connection.execute("PRAGMA journal_mode = WAL")  # readers and a writer at once
    connection.execute(f"PRAGMA journal_size_limit = {WAL_BYTES}")
    if not owner:
        for statement in _SETUP.strip().removesuffix(";").split(";"):
            connection.execute(statement)
