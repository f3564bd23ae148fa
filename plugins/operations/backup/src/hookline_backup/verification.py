"""Checks a backup: every file by its hash, and the database with SQLite's own check."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import tempfile
from contextlib import ExitStack, closing
from importlib.metadata import version
from pathlib import Path
from typing import IO, BinaryIO

from .archive import (
    CHUNK_BYTES,
    MANIFEST,
    ArchivedFile,
    BackupError,
    Manifest,
    archive_errors,
    archive_members,
    read_manifest,
)
from .contents import DATABASE


def verify(path: Path, passphrase: str | None) -> Manifest:
    """Check a backup and return its manifest. Raises :class:`BackupError` at the first problem.

    Only the database is unpacked, into a temporary folder.
    """
    with tempfile.TemporaryDirectory(prefix="hookline-verify-") as folder:
        return unpack(path, passphrase, Path(folder), only=DATABASE)


def unpack(path: Path, passphrase: str | None, folder: Path, *, only: str = "") -> Manifest:
    """Unpack a backup into the empty folder ``folder`` and check all files.

    Args:
        path: the backup.
        passphrase: the passphrase of an encrypted backup.
        folder: folders in it get mode 0700, files 0600, or 0700 if they were executable.
        only: the one file to unpack; the others are only checked.

    Raises:
        BackupError: the backup is damaged, incomplete, or from a newer version.
    """
    found: dict[str, tuple[int, str]] = {}
    manifest: Manifest | None = None
    with archive_errors(path):
        for name, data in archive_members(path, passphrase):
            if manifest is not None:
                raise BackupError(f"{path}: {name} comes after the manifest")
            if name == MANIFEST:
                manifest = read_manifest(data)
            else:
                found[name] = _copy_and_hash(data, folder / name if only in ("", name) else None)
    if manifest is None:
        raise BackupError(f"{path} ends before its manifest; it is incomplete")
    _compare(path, manifest, found)
    for name, entry in manifest.files.items():
        if only in ("", name):
            (folder / name).chmod(0o700 if entry.mode & 0o100 else 0o600)
    _check_version(path, manifest)
    if DATABASE in manifest.files:
        migrations = check_database(folder / DATABASE)
        if migrations != dict(manifest.migrations):
            raise BackupError(f"{path}: the database does not match the manifest")
    return manifest


def migrations_of(database: Path) -> dict[str, int]:
    """The newest migration of each part of a database."""
    with closing(_open_read_only(database)) as connection:
        rows = connection.execute(
            "SELECT component, MAX(number) FROM migrations GROUP BY component"
        )
        return {str(component): int(number) for component, number in rows}


def check_database(database: Path) -> dict[str, int]:
    """Check a database with SQLite; return its migrations. Raises :class:`BackupError`."""
    try:
        with closing(_open_read_only(database)) as connection:
            faults = [row[0] for row in connection.execute("PRAGMA integrity_check(3)")]
        if faults != ["ok"]:
            raise BackupError(f"its database is damaged ({'; '.join(map(str, faults))})")
        return migrations_of(database)
    except sqlite3.Error as error:
        raise BackupError(f"its database cannot be read ({error})") from error


def _open_read_only(database: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro&immutable=1", uri=True)


def _copy_and_hash(data: IO[bytes], target: Path | None) -> tuple[int, str]:
    """Read a member and write it to ``target``, if given; return its size and SHA-256."""
    hashed, size = hashlib.sha256(), 0
    with ExitStack() as stack:
        file = stack.enter_context(_create_file(target)) if target is not None else None
        while chunk := data.read(CHUNK_BYTES):
            hashed.update(chunk)
            size += len(chunk)
            if file is not None:
                file.write(chunk)
        if file is not None:
            file.flush()
            os.fsync(file.fileno())
    return size, hashed.hexdigest()


def _create_file(target: Path) -> BinaryIO:
    for folder in reversed(target.parents):
        folder.mkdir(mode=0o700, exist_ok=True)
    return os.fdopen(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb")


def _compare(path: Path, manifest: Manifest, found: dict[str, tuple[int, str]]) -> None:
    listed = manifest.files
    for name in sorted({*listed, *found}):
        entry: ArchivedFile | None = listed.get(name)
        if name not in found:
            raise BackupError(f"{path}: {name} is missing")
        if entry is None:
            raise BackupError(f"{path}: {name} is not in the manifest")
        if found[name] != (entry.size, entry.sha256):
            raise BackupError(f"{path}: {name} is damaged (its SHA-256 differs)")


def _check_version(path: Path, manifest: Manifest) -> None:
    here = version("hookline")
    if _numbers(manifest.hookline) > _numbers(here):
        raise BackupError(
            f"{path} was made by hookline {manifest.hookline}, and this is {here}. Update hookline "
            "first."
        )


def _numbers(text: str) -> tuple[int, ...]:
    parts = text.split("+")[0].split(".")
    return tuple(int(part) for part in parts if part.isdecimal())
