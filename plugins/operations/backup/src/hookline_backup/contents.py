"""What belongs to a backup of a home, and what does not."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hookline_hookspecs import Paths

DATABASE = "hookline.db"
"""The database's file in the home; in a backup it is a snapshot, never a copy of the file."""
DUMP = "postgres.dump"
"""The dump of a database that is not in the home, as ``pg_restore`` reads it."""
NOT_OURS = frozenset({"backups", "locks", "logs", "profiles", "active-profile"})
"""What of the home no backup holds; each profile has backups of its own."""
OF_PROCESSES = (".lock", ".holder", ".sock", ".pid")
"""Endings of files that mean something only to the processes that run now."""
LONGEST_KEY = 1000
"""Bytes of a file that may be a key."""
_KEY = re.compile(rb"""[A-Za-z0-9+/]{43}=|\{.*"seed":"[0-9a-f]{64}".*\}""")
"""32 bytes in base64, or a member's seed; without white space."""


@dataclass(slots=True)
class Contents:
    """A home's files, by their paths relative to it, with ``/``.

    ``files`` are to be kept; ``secrets`` hold credentials, and are kept only in a backup that may
    hold them; ``left_out`` cannot be kept: links, and what nobody may read.
    """

    files: list[str] = field(default_factory=list)
    secrets: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def contents_of(home: Path, paths: Paths, *, secrets: bool) -> Contents:
    """List what a backup of ``home`` holds; with ``secrets``, also what holds credentials.

    ``paths`` knows which files hold credentials by their names.
    """
    found = Contents()
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
    """Whether a file is a key of Hookline's, whatever it is called: the vault's, which the settings
    name, one that is about to take its place, the audit's, or that of a team's member."""
    try:
        text = file.read_bytes() if file.stat().st_size <= LONGEST_KEY else b""
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
            if not folder and (entry.name in NOT_OURS or entry.name.startswith((DATABASE, DUMP))):
                continue
            try:
                mode = entry.stat(follow_symlinks=False).st_mode
            except OSError:
                continue  # it was removed meanwhile
            if stat.S_ISDIR(mode):
                pending.append(path)
            elif not entry.name.endswith(OF_PROCESSES) and not stat.S_ISSOCK(mode):
                yield path, mode
