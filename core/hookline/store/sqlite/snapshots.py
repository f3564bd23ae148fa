"""Copies the database while others read and write.

``VACUUM INTO`` reads one state of the database and writes a new file. ``Connection.backup`` would
start over with every write by others, and might never end.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import closing, suppress
from pathlib import Path

from hookline_hookspecs.errors import StoreError

from .connection import Connect, SqliteConnection


async def write_snapshot(source: Path, target: Path, connect: Connect) -> None:
    """Copy the database ``source`` to the new file ``target``. It can be cancelled.

    If it fails or is cancelled, no file is left. Raises ``StoreError``.
    """
    with closing(SqliteConnection(source, connect)) as connection:
        work = asyncio.ensure_future(asyncio.to_thread(_write, connection, target))
        try:
            await asyncio.shield(work)
        except asyncio.CancelledError:
            while not work.done():  # only a statement that has already started can be interrupted
                connection.raw.interrupt()
                await asyncio.wait([work], timeout=0.05)
            _discard(work, target)
            raise


def _discard(work: asyncio.Future[None], target: Path) -> None:
    with suppress(StoreError):
        work.result()
        target.unlink(missing_ok=True)


def _write(connection: SqliteConnection, target: Path) -> None:
    try:
        # SQLite accepts an empty file, so create it with mode 0600 before it has content.
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError as error:
        reason = error.strerror or error
        raise StoreError(
            f"The copy {target} cannot be created: {reason}. Choose another file."
        ) from error
    try:
        connection.execute("VACUUM INTO :target", {"target": str(target.absolute())})
        with target.open("rb") as file:
            os.fsync(file.fileno())
    except BaseException:
        target.unlink(missing_ok=True)
        raise
