"""Whether a backup is whole: every file by its hash, and the database by SQLite's own check."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import tempfile
from contextlib import ExitStack, closing
from importlib.metadata import version
from pathlib import Path
from typing import IO, BinaryIO

from .archive import CHUNK, MANIFEST, BackupError, Entry, Manifest, members, read_manifest, reading
from .contents import DATABASE


def verify(path: Path, passphrase: str | None) -> Manifest:
    """Check a backup and return its manifest. Raises :class:`BackupError` with what is wrong first.

    Only the database is written anywhere: into a temporary folder, while it is checked.
    """
    with tempfile.TemporaryDirectory(prefix="hookline-verify-") as folder:
        return unpack(path, passphrase, Path(folder), only=DATABASE)


def unpack(path: Path, passphrase: str | None, folder: Path, *, only: str = "") -> Manifest:
    """Write a backup's files into ``folder``, which is empty, and check all of them.

    Args:
        path: the backup.
        passphrase: of an encrypted one.
        folder: where to; folders get 0700, files 0600, or 0700 where they could be executed.
        only: the one file that is written; the others are only checked.

    Raises:
        BackupError: the backup is damaged, incomplete, or made by a newer version.
    """
    found: dict[str, tuple[int, str]] = {}
    manifest: Manifest | None = None
    with reading(path):
        for name, data in members(path, passphrase):
            if manifest is not None:
                raise BackupError(f"{path}: {name} comes after the manifest")
            if name == MANIFEST:
                manifest = read_manifest(data)
            else:
                found[name] = _copied(data, folder / name if only in ("", name) else None)
    if manifest is None:
        raise BackupError(f"{path} ends before its manifest; it was not written to its end")
    _compare(path, manifest, found)
    for name, entry in manifest.files.items():
        if only in ("", name):
            (folder / name).chmod(0o700 if entry.mode & 0o100 else 0o600)
    _check_version(path, manifest)
    if DATABASE in manifest.files:
        told = check_database(folder / DATABASE)
        if told != dict(manifest.migrations):
            raise BackupError(f"{path}: the database is not the one that its manifest describes")
    return manifest


def migrations_of(database: Path) -> dict[str, int]:
    """The newest migration of each part of a database."""
    with closing(_opened(database)) as connection:
        rows = connection.execute(
            "SELECT component, MAX(number) FROM migrations GROUP BY component"
        )
        return {str(component): int(number) for component, number in rows}


def check_database(database: Path) -> dict[str, int]:
    """Have SQLite check a database; its migrations. Raises :class:`BackupError`."""
    try:
        with closing(_opened(database)) as connection:
            faults = [row[0] for row in connection.execute("PRAGMA integrity_check(3)")]
        if faults != ["ok"]:
            raise BackupError(f"the database in it is damaged ({'; '.join(map(str, faults))})")
        return migrations_of(database)
    except sqlite3.Error as error:
        raise BackupError(f"the database in it cannot be read ({error})") from error


def _opened(database: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro&immutable=1", uri=True)


def _copied(data: IO[bytes], target: Path | None) -> tuple[int, str]:
    """Write a file, durably, or only read it; its size and SHA-256."""
    hashed, size = hashlib.sha256(), 0
    with ExitStack() as stack:
        file = stack.enter_context(_created(target)) if target is not None else None
        while chunk := data.read(CHUNK):
            hashed.update(chunk)
            size += len(chunk)
            if file is not None:
                file.write(chunk)
        if file is not None:
            file.flush()
            os.fsync(file.fileno())
    return size, hashed.hexdigest()


def _created(target: Path) -> BinaryIO:
    for folder in reversed(target.parents):
        folder.mkdir(mode=0o700, exist_ok=True)
    return os.fdopen(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb")


def _compare(path: Path, manifest: Manifest, found: dict[str, tuple[int, str]]) -> None:
    listed = manifest.files
    for name in sorted({*listed, *found}):
        entry: Entry | None = listed.get(name)
        if name not in found:
            raise BackupError(f"{path}: {name} is missing")
        if entry is None:
            raise BackupError(f"{path}: {name} is not in the manifest")
        if found[name] != (entry.size, entry.sha256):
            raise BackupError(f"{path}: {name} is not what was backed up (its SHA-256 differs)")


def _check_version(path: Path, manifest: Manifest) -> None:
    here = version("hookline")
    if _numbers(manifest.hookline) > _numbers(here):
        raise BackupError(
            f"{path} was made by hookline {manifest.hookline}, and this is {here}; update hookline "
            "first"
        )


def _numbers(text: str) -> tuple[int, ...]:
    parts = text.split("+")[0].split(".")
    return tuple(int(part) for part in parts if part.isdecimal())
