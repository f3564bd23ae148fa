"""Reads a zip or tar archive, or a folder, into memory, or refuses it as a whole.

A source is refused for a link, a device, a path that leads out, two names that some file systems
do not distinguish, too many files or too many bytes.
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

from . import safe_files

MAX_ARCHIVE_BYTES = 50_000_000
"""Bytes of an archive, and of its content once decompressed."""
MAX_FILE_BYTES = 5_000_000
MAX_FILES = 2_000
"""Files of one source."""
MAX_ZIP_DIRECTORY_BYTES = 1_000_000
"""Bytes of a zip's directory: about 10,000 names."""
CHUNK_BYTES = 1 << 20
SKIPPED_FOLDERS = frozenset({"__MACOSX", "__pycache__", "node_modules"})
"""Folders that are skipped, as are names that begin with a dot."""
_COMPRESSED: Mapping[bytes, Callable[[IO[bytes]], Any]] = {
    b"\x1f\x8b": lambda raw: gzip.GzipFile(fileobj=raw),
    b"BZh": lambda raw: bz2.BZ2File(raw),
    b"\xfd7zXZ\x00": lambda raw: lzma.LZMAFile(raw),  # noqa: SIM115 - closed with `raw`
}


class SourceFiles(dict[str, bytes]):
    """Files by path, each checked when it is added.

    ``oversized`` are the paths of files that are too large to be read.
    """

    def __init__(self) -> None:
        super().__init__()
        self.oversized: list[str] = []
        self._bytes = 0
        self._keys: set[str] = set()

    def accepts(self, path: str, size: int) -> bool:
        """True if a file is to be read, False if it is skipped.

        Args:
            size: bytes, as the source declares them.

        Raises:
            Refused: its path is not acceptable, or there are too many files.
        """
        try:
            parts = safe_files.split_path(path)
        except safe_files.BadPath as error:
            raise Refused(f"the source contains an invalid path: {error}") from None
        if len(self) + len(self.oversized) >= MAX_FILES:
            raise Refused(f"the source has more than {MAX_FILES:,} files")
        if any(part.startswith(".") or part in SKIPPED_FOLDERS for part in parts):
            return False
        if size > MAX_FILE_BYTES:
            self.oversized.append("/".join(parts))
            return False
        return True

    def add(self, path: str, stream: IO[bytes]) -> None:
        """Read a file that was accepted. Raises ``Refused``."""
        path = "/".join(safe_files.split_path(path))
        if safe_files.collision_key(path) in self._keys:
            raise Refused(f"the source has two files with names that look the same: {path}")
        data = stream.read(MAX_FILE_BYTES + 1)
        self._bytes += len(data)
        if len(data) > MAX_FILE_BYTES or self._bytes > MAX_ARCHIVE_BYTES:
            raise Refused(
                f"the source is larger than {MAX_ARCHIVE_BYTES:,} bytes, or {path} than declared"
            )
        self._keys.add(safe_files.collision_key(path))
        self[path] = data


def read_archive(archive: Path) -> SourceFiles:
    """Read a zip archive, or a tar archive, plain or compressed by gzip, bzip2 or xz.

    Raises:
        Refused: it is damaged, too large, or has content that is not allowed.
        OSError: it cannot be read.
    """
    with archive.open("rb") as raw:
        if os.fstat(raw.fileno()).st_size > MAX_ARCHIVE_BYTES:
            raise Refused(f"{archive.name} is larger than {MAX_ARCHIVE_BYTES:,} bytes")
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
        except (
            Exception
        ) as error:  # damaged archives raise many types, struct.error and OSError too
            raise Refused(f"{archive.name} is not a readable archive: {error}") from error


def read_folder(folder: Path) -> SourceFiles:
    """Read the files below a folder. Raises as :func:`read_archive` does."""
    files = SourceFiles()
    for path, entry in _walk(folder, ""):
        found = entry.stat(follow_symlinks=False)
        if stat.S_ISLNK(found.st_mode) or not stat.S_ISREG(found.st_mode):
            raise Refused(
                f"{path} is a link or not a regular file; a skill may only have regular files"
            )
        if files.accepts(path, found.st_size):
            handle = os.open(entry.path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
            with os.fdopen(handle, "rb") as stream:
                files.add(path, stream)
    return files


def _walk(folder: Path, prefix: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda item: item.name):
            if entry.name.startswith(".") or entry.name in SKIPPED_FOLDERS:
                continue
            if entry.is_dir(follow_symlinks=False):
                if prefix.count("/") >= safe_files.MAX_DEPTH:
                    raise Refused(f"{prefix}{entry.name} is nested too deeply")
                yield from _walk(Path(entry.path), f"{prefix}{entry.name}/")
            else:
                yield prefix + entry.name, entry


def _decompress(raw: IO[bytes], start: bytes, plain: IO[bytes]) -> None:
    """Decompress into a bounded file first: ``tarfile`` reads headers of any size into memory."""
    opened = next(
        (make(raw) for magic, make in _COMPRESSED.items() if start.startswith(magic)), raw
    )
    written = 0
    while chunk := opened.read(CHUNK_BYTES):
        written += len(chunk)
        if written > MAX_ARCHIVE_BYTES:
            raise Refused(f"the archive has more than {MAX_ARCHIVE_BYTES:,} bytes")
        plain.write(chunk)


def _untar(plain: IO[bytes]) -> SourceFiles:
    files = SourceFiles()
    with tarfile.open(fileobj=plain, mode="r:") as archive:
        for member in archive:
            if member.isdir():
                continue
            if not member.isreg() or member.issparse():
                raise Refused(f"{member.name[:100]!r} in the archive is a link or a device")
            if files.accepts(member.name, member.size):
                stream = archive.extractfile(member)
                assert stream is not None
                files.add(member.name, stream)
    return files


def _unzip(raw: IO[bytes]) -> SourceFiles:
    _check_directory(raw)
    files = SourceFiles()
    with zipfile.ZipFile(raw) as archive:
        for member in archive.infolist():
            kind = stat.S_IFMT(member.external_attr >> 16)
            if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise Refused(f"{member.filename[:100]!r} in the archive is a link or a device")
            if "\0" in member.orig_filename or "\\" in member.orig_filename:
                raise Refused(f"{member.orig_filename[:100]!r} is not an allowed name")
            if member.flag_bits & 1:
                raise Refused("the archive is encrypted; decrypt it first")
            if not member.is_dir() and files.accepts(member.filename, member.file_size):
                with archive.open(member) as stream:
                    files.add(member.filename, stream)
    return files


def _check_directory(raw: IO[bytes]) -> None:
    """Refuse a zip with a huge directory before ``zipfile`` reads it into memory. The record at
    the end gives its size (PKWARE's APPNOTE, 4.3.16)."""
    size = raw.seek(0, os.SEEK_END)
    raw.seek(max(0, size - 65_557))
    tail = raw.read()
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) < at + 22:
        raise Refused("the archive is not a readable zip: its end is missing")
    fields: tuple[Any, ...] = struct.unpack("<HHHHII", tail[at + 4 : at + 20])
    if fields[4] > MAX_ZIP_DIRECTORY_BYTES or b"PK\x06\x07" in tail[max(0, at - 20) : at]:
        raise Refused(f"the archive lists more than {MAX_FILES:,} files")
    raw.seek(0)
