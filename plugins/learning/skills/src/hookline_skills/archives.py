"""Taking an archive or a folder apart: plain files in a mapping, or a refusal of the whole.

Nothing is written while it is read. A link, a device, a name that leads out, two names that one
file system takes for the same, too many files or too many bytes refuse the whole source.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import stat
import struct
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from hookline_hookspecs import Refused

from . import safely

ARCHIVE_BYTES = 50_000_000
"""Bytes of an archive, and of what it holds once decompressed."""
FILE_BYTES, FILES = 5_000_000, 2_000
"""Bytes of one file, and files of one source."""
DIRECTORY_BYTES = 1_000_000
"""Bytes of a zip's directory: about 10,000 names."""
PIECE = 1 << 20
SKIPPED = frozenset({"__MACOSX", "__pycache__", "node_modules"})
"""Folders that are no part of a skill; what begins with a dot is not either."""
_COMPRESSED: Mapping[bytes, Callable[[IO[bytes]], Any]] = {
    b"\x1f\x8b": lambda raw: gzip.GzipFile(fileobj=raw),
    b"BZh": lambda raw: bz2.BZ2File(raw),
    b"\xfd7zXZ\x00": lambda raw: lzma.LZMAFile(raw),  # noqa: SIM115 - ends with `raw`
}


class Files(dict[str, bytes]):
    """Files by path; each is checked as it is added."""

    def __init__(self) -> None:
        super().__init__()
        self._bytes = 0
        self._same: set[str] = set()

    def wants(self, path: str, size: int) -> bool:
        """True if a file is to be read; ``size`` is what the source says of it.

        Raises:
            Refused: its name or its size is not acceptable.
        """
        try:
            parts = safely.parts_of(path)
        except safely.BadPath as error:
            raise Refused(f"the source holds a name that is not acceptable: {error}") from None
        if size > FILE_BYTES:
            raise Refused(f"{path} is larger than {FILE_BYTES:,} bytes")
        if len(self) >= FILES:
            raise Refused(f"the source holds more than {FILES:,} files")
        return not any(part.startswith(".") or part in SKIPPED for part in parts)

    def add(self, path: str, stream: IO[bytes]) -> None:
        """Read a file that is wanted. Raises ``Refused``."""
        path = "/".join(safely.parts_of(path))
        if safely.same(path) in self._same:
            raise Refused(f"the source holds two files whose names cannot be told apart: {path}")
        data = stream.read(FILE_BYTES + 1)
        self._bytes += len(data)
        if len(data) > FILE_BYTES or self._bytes > ARCHIVE_BYTES:
            raise Refused(f"the source is larger than {ARCHIVE_BYTES:,} bytes, or {path} is a bomb")
        self._same.add(safely.same(path))
        self[path] = data


def unpack(archive: Path) -> Files:
    """The files of a zip or tar archive, the latter plain or compressed by gzip, bzip2 or xz.

    Raises:
        Refused: it holds what it may not, or is too large.
        OSError: it cannot be read.
    """
    with archive.open("rb") as raw:
        if os.fstat(raw.fileno()).st_size > ARCHIVE_BYTES:
            raise Refused(f"{archive.name} is larger than {ARCHIVE_BYTES:,} bytes")
        start = raw.read(8)
        raw.seek(0)
        try:
            if start.startswith(b"PK"):
                return _unzip(raw)
            with tempfile.TemporaryFile() as plain:
                _decompress(raw, start, plain)
                plain.seek(0)
                return _untar(plain)
        except Refused:
            raise
        except Exception as error:  # a damaged archive raises anything, struct.error to OSError
            raise Refused(f"{archive.name} is no archive that can be read: {error}") from error


def collect(folder: Path) -> Files:
    """The files below a folder. Raises ``Refused`` and ``OSError`` as :func:`unpack` does."""
    files = Files()
    for path, entry in _below(folder, ""):
        found = entry.stat(follow_symlinks=False)
        if stat.S_ISLNK(found.st_mode) or not stat.S_ISREG(found.st_mode):
            raise Refused(f"{path} is a link or no plain file; a skill holds plain files alone")
        if files.wants(path, found.st_size):
            handle = os.open(entry.path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
            with os.fdopen(handle, "rb") as stream:
                files.add(path, stream)
    return files


def _below(folder: Path, before: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda one: one.name):
            if entry.name.startswith(".") or entry.name in SKIPPED:
                continue
            if entry.is_dir(follow_symlinks=False):
                if before.count("/") >= safely.DEPTH:
                    raise Refused(f"{before}{entry.name} lies too deep")
                yield from _below(Path(entry.path), f"{before}{entry.name}/")
            else:
                yield before + entry.name, entry


def _decompress(raw: IO[bytes], start: bytes, plain: IO[bytes]) -> None:
    """Decompress into a bounded file first: what a tar says of itself is read into memory."""
    opened = next(
        (make(raw) for magic, make in _COMPRESSED.items() if start.startswith(magic)), raw
    )
    written = 0
    while piece := opened.read(PIECE):
        written += len(piece)
        if written > ARCHIVE_BYTES:
            raise Refused(f"the archive holds more than {ARCHIVE_BYTES:,} bytes")
        plain.write(piece)


def _untar(plain: IO[bytes]) -> Files:
    files = Files()
    with tarfile.open(fileobj=plain, mode="r:") as archive:
        for member in archive:
            if member.isdir():
                continue
            if not member.isreg() or member.issparse():
                raise Refused(f"{member.name[:100]!r} in the archive is a link or a device")
            if files.wants(member.name, member.size):
                stream = archive.extractfile(member)
                assert stream is not None
                files.add(member.name, stream)
    return files


def _unzip(raw: IO[bytes]) -> Files:
    _check_directory(raw)
    files = Files()
    with zipfile.ZipFile(raw) as archive:
        for member in archive.infolist():
            kind = stat.S_IFMT(member.external_attr >> 16)
            if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise Refused(f"{member.filename[:100]!r} in the archive is a link or a device")
            if "\0" in member.orig_filename or "\\" in member.orig_filename:
                raise Refused(f"{member.orig_filename[:100]!r} is no acceptable name")
            if member.flag_bits & 1:
                raise Refused("the archive is encrypted; decrypt it first")
            if not member.is_dir() and files.wants(member.filename, member.file_size):
                with archive.open(member) as stream:
                    files.add(member.filename, stream)
    return files


def _check_directory(raw: IO[bytes]) -> None:
    """Refuse a zip whose directory is huge, before the library reads it into memory: the record at
    the end says how large it is (PKWARE's APPNOTE, 4.3.16)."""
    size = raw.seek(0, os.SEEK_END)
    raw.seek(max(0, size - 65_557))
    tail = raw.read()
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) < at + 22:
        raise Refused("the archive is no zip that can be read: its end is missing")
    fields: tuple[Any, ...] = struct.unpack("<HHHHII", tail[at + 4 : at + 20])
    if fields[4] > DIRECTORY_BYTES or b"PK\x06\x07" in tail[max(0, at - 20) : at]:
        raise Refused(f"the archive names more than {FILES:,} files")
    raw.seek(0)
