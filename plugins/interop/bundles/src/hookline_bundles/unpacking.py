"""Copies a folder or an archive into an empty folder, as plain files only.

A link to a place inside the source becomes a copy of what it names; one that leads out is left out
and told. Devices, absolute paths and ``..`` are left out too.
"""

from __future__ import annotations

import os
import stat
import tarfile
import zipfile
from pathlib import Path, PurePosixPath
from typing import IO

from hookline_hookspecs import Refused

from .content_hash import MAX_BYTES, MAX_FILES, SKIPPED

ARCHIVE_SUFFIXES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".plugin")
MAX_ARCHIVE_BYTES = 100_000_000
MAX_DEPTH = 30
_CHUNK_BYTES = 1 << 20


class Unpacking:
    """Writes files below ``target``, within limits; ``problems`` says what was left out."""

    def __init__(self, target: Path) -> None:
        self._target = target
        self._files = 0
        self._bytes = 0
        self.problems: list[str] = []

    def folder(self, source: Path) -> None:
        """Copy a folder. Raises ``Refused`` if it is too large, and ``OSError``."""
        top = source.resolve()
        self._copy_folder(top, PurePosixPath(), top, ())

    def archive(self, file: Path) -> None:
        """Unpack a zip or tar archive. Raises ``Refused`` if it is damaged or too large."""
        if file.stat().st_size > MAX_ARCHIVE_BYTES:
            raise Refused(f"{file.name} is larger than {MAX_ARCHIVE_BYTES:,} bytes")
        try:
            with file.open("rb") as raw:
                is_zip = raw.read(4) == b"PK\x03\x04"
            if is_zip:
                self._unzip(file)
            else:
                self._untar(file)
        except (Refused, OSError):
            raise
        except Exception as error:  # damaged archives raise many types
            raise Refused(f"{file.name} is not a readable archive: {error}") from error

    def _copy_folder(
        self, folder: Path, path: PurePosixPath, top: Path, above: tuple[str, ...]
    ) -> None:
        real = os.path.realpath(folder)
        if real in above or len(above) > MAX_DEPTH:
            self.problems.append(f"{path}: left out, because it contains itself")
            return
        for entry in sorted(os.scandir(folder), key=lambda one: one.name):
            inner = path / entry.name
            if entry.name in SKIPPED:
                continue
            target = Path(os.path.realpath(entry.path))
            if not target.is_relative_to(top):
                self.problems.append(f"{inner}: left out, because it leads out of the bundle")
            elif target.is_dir():
                self._copy_folder(target, inner, top, (*above, real))
            elif target.is_file():
                mode = target.stat().st_mode
                with target.open("rb") as stream:
                    self._write(inner, stream, executable=bool(mode & stat.S_IXUSR))
            else:
                self.problems.append(f"{inner}: left out, because it is not a regular file")

    def _unzip(self, file: Path) -> None:
        with zipfile.ZipFile(file) as archive:
            for member in archive.infolist():
                path = self._path(member.filename)
                mode = member.external_attr >> 16
                if path is None or member.is_dir():
                    continue
                if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
                    self.problems.append(f"{path}: left out, because it is a link or a device")
                    continue
                with archive.open(member) as stream:
                    self._write(path, stream, executable=bool(mode & stat.S_IXUSR))

    def _untar(self, file: Path) -> None:
        links: list[tuple[PurePosixPath, str]] = []
        with tarfile.open(file, mode="r:*") as archive:
            for count, member in enumerate(archive):
                if count > MAX_FILES * 2:
                    raise Refused(f"the archive has more than {MAX_FILES:,} files")
                path = self._path(member.name)
                if path is None or member.isdir():
                    continue
                if member.issym():
                    links.append((path, member.linkname))
                elif member.isreg() and not member.issparse():
                    stream = archive.extractfile(member)
                    assert stream is not None
                    self._write(path, stream, executable=bool(member.mode & stat.S_IXUSR))
                else:
                    self.problems.append(f"{path}: left out, because it is not a regular file")
        for path, target in links:
            self._copy_link(path, target)

    def _copy_link(self, path: PurePosixPath, link: str) -> None:
        """Copy what a link of an archive names, now that its files are there."""
        named = os.path.normpath(os.path.join("/", path.parent, link))[1:]  # noqa: PTH118
        steps = os.path.normpath(path.parent / link)
        source = self._target / named
        if link.startswith("/") or steps.startswith("..") or not source.exists():
            self.problems.append(f"{path}: left out, because it leads out of the bundle")
        elif source.is_dir():
            if PurePosixPath(path).is_relative_to(named):
                self.problems.append(f"{path}: left out, because it contains itself")
            else:
                self._copy_folder(source, path, source, ())
        else:
            with source.open("rb") as stream:
                executable = bool(source.stat().st_mode & stat.S_IXUSR)
                self._write(path, stream, executable=executable)

    def _path(self, name: str) -> PurePosixPath | None:
        """Return a member's path; None if it is to be left out."""
        path = PurePosixPath(name)
        parts = path.parts
        if any(part in SKIPPED for part in parts) or not parts:
            return None
        is_odd = "\\" in name or "\0" in name or len(parts) > MAX_DEPTH
        if path.is_absolute() or ".." in parts or is_odd:
            self.problems.append(f"{name[:100]!r}: left out, because it leads out of the bundle")
            return None
        return path

    def _write(self, path: PurePosixPath, stream: IO[bytes], *, executable: bool) -> None:
        self._files += 1
        if self._files > MAX_FILES:
            raise Refused(f"it has more than {MAX_FILES:,} files")
        target = self._target / path
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(
            target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o700 if executable else 0o600
        )
        with os.fdopen(handle, "wb") as file:
            while chunk := stream.read(_CHUNK_BYTES):
                self._bytes += len(chunk)
                if self._bytes > MAX_BYTES:
                    raise Refused(f"it is larger than {MAX_BYTES:,} bytes")
                file.write(chunk)
