"""Lists the files of a home that belong to a backup."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hookline_hookspecs import Paths

DATABASE = "hookline.db"
"""The database in the home. A backup contains a snapshot of it, not a copy of the file."""
DUMP = "postgres.dump"
"""The dump of a PostgreSQL database, for ``pg_restore``."""
EXCLUDED = frozenset({"backups", "locks", "logs", "profiles", "active-profile"})
"""Names in the home that are never backed up; each profile has its own backups."""
PROCESS_FILE_SUFFIXES = (".lock", ".holder", ".sock", ".pid")
"""Endings of files that only matter to running processes."""
MAX_KEY_BYTES = 1000
"""A larger file is not a key."""
_KEY = re.compile(rb"""[A-Za-z0-9+/]{43}=|\{.*"seed":"[0-9a-f]{64}".*\}""")
"""32 bytes in base64, or a member's seed; without white space."""


@dataclass(slots=True)
class BackupContents:
    """A home's files, as paths relative to it with ``/``.

    ``files`` are backed up; ``secrets`` contain credentials, which only some backups include;
    ``left_out`` cannot be backed up: links, special files and unreadable folders.
    """

    files: list[str] = field(default_factory=list)
    secrets: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def list_contents(home: Path, paths: Paths, *, secrets: bool) -> BackupContents:
    """List the files for a backup of ``home``; with ``secrets``, also those with credentials.

    ``paths`` knows files with credentials by their names.
    """
    found = BackupContents()
    for path, kind in sorted(_walk(home)):
        if not stat.S_ISREG(kind):
            found.left_out.append(path)
            continue
        if path == ".env" or paths.credential(path) is not None or _is_key(home / path):
            found.secrets.append(path)
            if not secrets:
                continue
        found.files.append(path)
    return found


def _is_key(file: Path) -> bool:
    """Whether a file contains one of Hookline's keys, whatever its name.

    These are the keys of the vault (also one that is about to replace it), the audit and the team.
    """
    try:
        text = file.read_bytes() if file.stat().st_size <= MAX_KEY_BYTES else b""
    except OSError:
        return False
    return _KEY.fullmatch(b"".join(text.split())) is not None


def _walk(home: Path) -> Iterator[tuple[str, int]]:
    pending = [""]
    while pending:
        folder = pending.pop()
        try:
            entries = list(os.scandir(home / folder))
        except OSError:
            yield folder, 0
            continue
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if not folder and (entry.name in EXCLUDED or entry.name.startswith((DATABASE, DUMP))):
                continue
            try:
                mode = entry.stat(follow_symlinks=False).st_mode
            except OSError:
                continue  # removed in the meantime
            if stat.S_ISDIR(mode):
                pending.append(path)
            elif not entry.name.endswith(PROCESS_FILE_SUFFIXES) and not stat.S_ISSOCK(mode):
                yield path, mode
