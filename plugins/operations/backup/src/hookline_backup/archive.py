"""The archive of a backup: tar, compressed with zstd, and optionally encrypted with age.

``tar --zstd -xf FILE`` unpacks it, ``age -d FILE | tar --zstd -x`` an encrypted one. The last
member is ``manifest.json``: format, time, versions, and size, mode and SHA-256 of each file. It
comes last because files are hashed while they are written.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, Any, BinaryIO

from hookline_hookspecs import HooklineError

FORMAT = 1
MANIFEST = "manifest.json"
SUFFIX, ENCRYPTED_SUFFIX = ".tar.zst", ".tar.zst.age"
ZSTD_LEVEL = 6
"""From 1 to 22. A higher level is slower and makes a database hardly smaller."""
MAX_MEMORY_BYTES = 8 << 20
"""A file is copied before it is added: up to this size in memory, larger ones on disk."""
MAX_ENCRYPTED_BYTES = 2 << 30
"""The limit for encrypted backups, because age with a passphrase works in memory."""
MAX_MANIFEST_BYTES = 64 << 20
CHUNK_BYTES = 1 << 20
_AGE = b"age-encryption.org/"


class BackupError(HooklineError):
    """A backup cannot be created, read or restored; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class ArchivedFile:
    """A file in a backup: ``size`` in bytes, ``sha256`` in hexadecimal, ``mode`` as in stat."""

    size: int
    sha256: str
    mode: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """The description of a backup, stored in it.

    ``made`` is UTC in ISO 8601, ``migrations`` the newest migration of each part of the database,
    ``secrets`` whether it contains ``.env`` and other credentials, ``left_out`` the files that
    could not be included.
    """

    made: str
    hookline: str
    migrations: Mapping[str, int]
    secrets: bool
    left_out: tuple[str, ...]
    files: dict[str, ArchivedFile] = field(default_factory=dict)
    format: int = FORMAT

    def to_json(self) -> bytes:
        """The bytes of ``manifest.json``."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=1).encode()

    @classmethod
    def from_json(cls, data: bytes) -> Manifest:
        """Read ``manifest.json``. Raises :class:`BackupError`."""
        try:
            row = json.loads(data)
            if row["format"] > FORMAT:
                raise BackupError(
                    f"it has the format {row['format']}, and this version reads up to {FORMAT}; "
                    "update hookline"
                )
            files = {name: ArchivedFile(**entry) for name, entry in row["files"].items()}
            return cls(
                row["made"],
                row["hookline"],
                dict(row["migrations"]),
                row["secrets"] is True,
                tuple(row["left_out"]),
                files,
            )
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise BackupError(
                f"its {MANIFEST} was not written by hookline; use another backup"
            ) from error


def find_backups(home: Path) -> list[Path]:
    """The backups in the home's folder ``backups``, oldest first."""
    found = [
        path
        for path in (home / "backups").glob("*")
        if path.name.endswith((SUFFIX, ENCRYPTED_SUFFIX))
    ]
    return sorted(found, key=lambda path: (path.stat().st_mtime, path.name))


# Writing


class ArchiveWriter:
    """Adds files to an archive and records them for the manifest."""

    def __init__(self, tar: tarfile.TarFile) -> None:
        self._tar = tar
        self.files: dict[str, ArchivedFile] = {}

    def add(self, name: str, path: Path) -> bool:
        """Add the regular file ``path`` as ``name``; False if it is not there any more.

        The file is read once, so hash and content agree even if it changes meanwhile.
        """
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            return False
        with (
            os.fdopen(handle, "rb") as file,
            tempfile.SpooledTemporaryFile(MAX_MEMORY_BYTES) as copy,
        ):
            found = os.fstat(file.fileno())
            if not path.is_file():
                return False
            hashed = hashlib.sha256()
            while chunk := file.read(CHUNK_BYTES):
                hashed.update(chunk)
                copy.write(chunk)
            size = copy.tell()
            copy.seek(0)
            member = tarfile.TarInfo(name)
            member.size, member.mtime = size, int(found.st_mtime)
            member.mode = found.st_mode & 0o700
            self._tar.addfile(member, copy)
        self.files[name] = ArchivedFile(size, hashed.hexdigest(), member.mode)
        return True

    def close(self, manifest: Manifest) -> None:
        """Add the manifest, the last member."""
        data = manifest.to_json()
        member = tarfile.TarInfo(MANIFEST)
        member.size, member.mode = len(data), 0o600
        self._tar.addfile(member, io.BytesIO(data))


@contextmanager
def write_archive(path: Path, passphrase: str | None) -> Iterator[ArchiveWriter]:
    """Write the archive ``path``. It appears only when complete, readable by its owner only.

    Raises :class:`BackupError` if it exists already or cannot be written.
    """
    from zstandard import ZstdCompressor

    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with (
            _output(partial, passphrase) as output,
            ZstdCompressor(ZSTD_LEVEL).stream_writer(output, closefd=False) as packed,
            tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as tar,
        ):
            yield ArchiveWriter(tar)
        try:
            os.link(partial, path)  # unlike a rename, it replaces nothing
        except FileExistsError:
            raise BackupError(f"{path} already exists; choose another --out") from None
        except OSError:  # a file system without links
            if path.exists():
                raise BackupError(f"{path} already exists; choose another --out") from None
            partial.replace(path)
    except OSError as error:
        raise BackupError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def _output(path: Path, passphrase: str | None) -> Iterator[BinaryIO]:
    with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
        if passphrase is None:
            yield file
        else:
            import pyrage  # type: ignore[import-untyped]

            plain = io.BytesIO()
            yield plain
            if plain.tell() > MAX_ENCRYPTED_BYTES:
                raise BackupError(
                    f"it has {plain.tell():,} bytes, and at most {MAX_ENCRYPTED_BYTES:,} can be "
                    "encrypted; create it without --encrypt and encrypt it with age and a key"
                )
            file.write(pyrage.passphrase.encrypt(plain.getvalue(), passphrase))
        file.flush()
        os.fsync(file.fileno())


# Reading


def is_encrypted(path: Path) -> bool:
    """Whether the file is encrypted with age. Raises :class:`BackupError` if it is unreadable."""
    with _readable(path) as file:
        return file.read(len(_AGE)) == _AGE


def archive_members(path: Path, passphrase: str | None) -> Iterator[tuple[str, IO[bytes]]]:
    """Yield the name and the data of each file in an archive; read the data before the next one.

    Use it within :func:`archive_errors`. Raises :class:`BackupError` for an unsafe or repeated
    name, or a wrong passphrase.
    """
    from zstandard import ZstdDecompressor

    seen: set[str] = set()
    with _plain(path, passphrase) as file:
        packed = ZstdDecompressor().stream_reader(file, read_across_frames=True)
        with tarfile.open(fileobj=packed, mode="r|") as tar:
            for member in tar:
                data = tar.extractfile(member) if member.isreg() else None
                if data is None or not _is_safe(member.name) or member.name in seen:
                    raise BackupError(
                        f"{path} contains {member.name!r}, which no backup may contain"
                    )
                seen.add(member.name)
                yield member.name, data


@contextmanager
def archive_errors(path: Path) -> Iterator[None]:
    """Raise :class:`BackupError` in place of errors of tar and zstd."""
    from zstandard import ZstdError

    try:
        yield
    except (tarfile.TarError, ZstdError, EOFError) as error:
        why = "it ends early" if str(error) in ("", "empty file") else str(error)
        raise BackupError(f"{path} is damaged or not a backup ({why}); use another one") from error


def read_manifest(data: IO[bytes]) -> Manifest:
    """Read the member ``manifest.json``. Raises :class:`BackupError`."""
    return Manifest.from_json(data.read(MAX_MANIFEST_BYTES))


def _is_safe(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return (
        bool(parts)
        and "/".join(parts) == name
        and not name.startswith("/")
        and "\0" not in name
        and not {".", ".."}.intersection(parts)
        and "\\" not in name
    )


@contextmanager
def _readable(path: Path) -> Iterator[BinaryIO]:
    try:
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise BackupError(f"{path} cannot be read: {error.strerror or error}") from error


@contextmanager
def _plain(path: Path, passphrase: str | None) -> Iterator[BinaryIO]:
    with _readable(path) as file:
        if not is_encrypted(path):
            yield file
            return
        import pyrage

        if passphrase is None:
            raise BackupError(f"{path} is encrypted; give its passphrase")
        try:
            yield io.BytesIO(pyrage.passphrase.decrypt(file.read(), passphrase))
        except pyrage.DecryptError as error:
            raise BackupError(f"wrong passphrase for {path}, or it is damaged ({error})") from None


def as_dict(manifest: Manifest) -> dict[str, Any]:
    """The manifest without its files, for ``--json``."""
    row = asdict(manifest)
    return row | {"files": len(manifest.files)}
