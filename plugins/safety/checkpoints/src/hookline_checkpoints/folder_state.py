"""The last known state of a folder: its files with their stamps and content ids.

It is a cache, stored as JSON next to the store. If it is missing or does not match, everything is
read again.
"""

from __future__ import annotations

import json
import os
import secrets
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import NamedTuple

VERSION = 1
OID_CHARS = 40
MAX_CACHED_STATES = 4
"""Folders whose state is cached in memory."""


class FileStamp(NamedTuple):
    """Changes whenever the file does: ``st_mode``, size in bytes, mtime and ctime in nanoseconds,
    inode."""

    mode: int
    size: int
    mtime: int
    ctime: int
    inode: int

    @classmethod
    def of(cls, stat: os.stat_result) -> FileStamp:
        """Return the stamp for a result of ``lstat`` or ``fstat``."""
        return cls(stat.st_mode, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino)


class FileRecord(NamedTuple):
    """A saved file: its stamp, and the id of its content in the store, 40 hexadecimal digits."""

    stamp: FileStamp
    oid: str


@dataclass(slots=True)
class FolderState:
    """A folder as it was last seen. Paths are relative, with ``/``.

    ``commit`` holds it in the store and ``tree`` its files (empty if there are none).
    ``skipped`` says why a path was skipped; a folder's ends with ``/``. ``ignores`` are the stamps
    of the ``.gitignore`` files by folder. ``stale`` are paths that are in the tree and not in
    ``files``. ``seen`` is when the survey began, in nanoseconds of the wall clock.
    """

    commit: str = ""
    tree: str = ""
    files: dict[str, FileRecord] = field(default_factory=dict)
    folders: dict[str, int] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    ignores: dict[str, FileStamp] = field(default_factory=dict)
    stale: list[str] = field(default_factory=list)
    seen: int = 0

    def encode(self) -> bytes:
        """Return the state as JSON in columns, which are fast to write; names that are not UTF-8
        are kept."""
        stamps = list(chain.from_iterable(known.stamp for known in self.files.values()))
        oids = "".join([known.oid for known in self.files.values()])
        data = [
            *(VERSION, self.commit, self.tree, list(self.files), stamps, oids),
            *(self.folders, self.skipped, self.ignores, self.stale, self.seen),
        ]
        return json.dumps(data, separators=(",", ":")).encode("ascii")

    @classmethod
    def decode(cls, text: bytes) -> FolderState:
        """Parse a state. Raises ``ValueError`` if it is invalid or of another version."""
        try:
            version, *columns = json.loads(text)
            if version != VERSION:
                raise ValueError("another version")
            commit, tree, paths, stamps, oids, folders, skipped, ignores, stale, seen = columns
            rows = zip(paths, _stamps(stamps), range(0, len(oids), OID_CHARS), strict=True)
            known = {
                path: FileRecord(FileStamp(*row), oids[at : at + OID_CHARS])
                for path, row, at in rows
            }
            ignoring = {path: FileStamp(*row) for path, row in ignores.items()}
        except (TypeError, ValueError, LookupError, AttributeError) as error:
            raise ValueError(f"not the state of a folder: {error}") from None
        return cls(commit, tree, known, folders, skipped, ignoring, stale, seen)


def _stamps(numbers: list[int]) -> Iterator[tuple[int, ...]]:
    """Return the numbers of all stamps, one after the other."""
    columns = [numbers[start :: len(FileStamp._fields)] for start in range(len(FileStamp._fields))]
    return zip(*columns, strict=True)


class FolderStates:
    """The states of folders, by the folder's key, in files ``KEY/state.json`` below ``root``."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._loaded: OrderedDict[str, tuple[FileStamp, FolderState]] = OrderedDict()

    def load(self, key: str) -> FolderState:
        """Return the state of a folder, an empty one if none is stored."""
        path = self._path(key)
        try:
            stamp = FileStamp.of(path.stat())
            remembered = self._loaded.get(key)
            if remembered is not None and remembered[0] == stamp:
                return remembered[1]
            return FolderState.decode(path.read_bytes())
        except (OSError, ValueError):
            return FolderState()

    def save(self, key: str, state: FolderState) -> None:
        """Store a state, in memory and on disk. Raises ``OSError``."""
        path = self._path(key)
        private_folder(path.parent)
        replace_file(path, state.encode())
        self._loaded[key] = (FileStamp.of(path.stat()), state)
        self._loaded.move_to_end(key)
        while len(self._loaded) > MAX_CACHED_STATES:
            self._loaded.popitem(last=False)

    def forget(self, key: str) -> None:
        """Delete the state of a folder, so that the whole folder is read again."""
        self._loaded.pop(key, None)
        with suppress(OSError):
            self._path(key).unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        return self._root / key / "state.json"


def private_folder(path: Path) -> None:
    """Make a folder and its missing parents, mode 0700. Raises ``OSError``."""
    if not path.is_dir():
        private_folder(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)


def replace_file(path: Path, content: bytes) -> None:
    """Write a file of mode 0600 atomically. Raises ``OSError``."""
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
        temporary.replace(path)
    except OSError:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
