"""The file of a backup: tar, compressed by zstd, and encrypted by age where asked.

``tar --zstd -xf FILE`` opens one, ``age -d FILE | tar --zstd -x`` an encrypted one. The last member
is ``manifest.json``: format, time, versions, and size, mode and SHA-256 of each file. It comes last
because files are hashed while they are written.
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
ENDING, ENCRYPTED = ".tar.zst", ".tar.zst.age"
LEVEL = 6
"""Of zstd, 1 to 22: beyond it a database gets slower and hardly smaller."""
IN_MEMORY = 8 << 20
"""Bytes of a file up to which it is copied to memory before it is written; larger ones to disk."""
MOST_ENCRYPTED = 2 << 30
"""Bytes of a compressed backup that can be encrypted: age's passphrases need it in memory."""
MOST_MANIFEST = 64 << 20
CHUNK = 1 << 20
_AGE = b"age-encryption.org/"


class BackupError(HooklineError):
    """A backup cannot be made, read or restored; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A file of a backup: ``size`` in bytes, ``sha256`` in hexadecimal, ``mode`` as of stat."""

    size: int
    sha256: str
    mode: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a backup says of itself.

    ``made`` is UTC in ISO 8601, ``migrations`` the newest migration of each part of the database,
    ``secrets`` whether it holds ``.env`` and other credentials, ``left_out`` what could not be
    kept.
    """

    made: str
    hookline: str
    migrations: Mapping[str, int]
    secrets: bool
    left_out: tuple[str, ...]
    files: dict[str, Entry] = field(default_factory=dict)
    format: int = FORMAT

    def to_json(self) -> bytes:
        """The bytes of ``manifest.json``."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=1).encode()

    @classmethod
    def from_json(cls, data: bytes) -> Manifest:
        """Read ``manifest.json``. Raises :class:`BackupError`."""
        try:
            told = json.loads(data)
            if told["format"] > FORMAT:
                raise BackupError(
                    f"it has the format {told['format']}, and this version reads up to {FORMAT}; "
                    "update hookline"
                )
            files = {name: Entry(**entry) for name, entry in told["files"].items()}
            return cls(
                told["made"],
                told["hookline"],
                dict(told["migrations"]),
                told["secrets"] is True,
                tuple(told["left_out"]),
                files,
            )
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise BackupError(
                f"its {MANIFEST} is none that hookline writes; take another backup"
            ) from error


def backups(home: Path) -> list[Path]:
    """The backups in the home's folder ``backups``, oldest first."""
    found = [
        path for path in (home / "backups").glob("*") if path.name.endswith((ENDING, ENCRYPTED))
    ]
    return sorted(found, key=lambda path: (path.stat().st_mtime, path.name))


# Writing


class Writer:
    """Adds files to a backup that is being written, and notes what they are."""

    def __init__(self, tar: tarfile.TarFile) -> None:
        self._tar = tar
        self.files: dict[str, Entry] = {}

    def add(self, name: str, path: Path) -> bool:
        """Add the regular file ``path`` as ``name``; False if it is gone, or is none any more.

        What is added is one reading of the file, however it changes meanwhile.
        """
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            return False
        with os.fdopen(handle, "rb") as file, tempfile.SpooledTemporaryFile(IN_MEMORY) as copy:
            found = os.fstat(file.fileno())
            if not path.is_file():
                return False
            hashed = hashlib.sha256()
            while chunk := file.read(CHUNK):
                hashed.update(chunk)
                copy.write(chunk)
            size = copy.tell()
            copy.seek(0)
            member = tarfile.TarInfo(name)
            member.size, member.mtime = size, int(found.st_mtime)
            member.mode = found.st_mode & 0o700
            self._tar.addfile(member, copy)
        self.files[name] = Entry(size, hashed.hexdigest(), member.mode)
        return True

    def close(self, manifest: Manifest) -> None:
        """End the backup with its manifest."""
        data = manifest.to_json()
        member = tarfile.TarInfo(MANIFEST)
        member.size, member.mode = len(data), 0o600
        self._tar.addfile(member, io.BytesIO(data))


@contextmanager
def writing(path: Path, passphrase: str | None) -> Iterator[Writer]:
    """Write the backup ``path``; it appears, whole and readable by its owner only, at the end.

    Raises :class:`BackupError` if it is there already or cannot be written.
    """
    from zstandard import ZstdCompressor

    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with (
            _output(partial, passphrase) as output,
            ZstdCompressor(LEVEL).stream_writer(output, closefd=False) as packed,
            tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as tar,
        ):
            yield Writer(tar)
        try:
            os.link(partial, path)  # unlike a rename, it replaces nothing
        except FileExistsError:
            raise BackupError(f"{path} is there already; choose another --out") from None
        except OSError:  # a file system without links
            if path.exists():
                raise BackupError(f"{path} is there already; choose another --out") from None
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
            if plain.tell() > MOST_ENCRYPTED:
                raise BackupError(
                    f"it has {plain.tell():,} bytes, and {MOST_ENCRYPTED:,} can be encrypted; make "
                    "it without --encrypt, and encrypt the file with age and a key"
                )
            file.write(pyrage.passphrase.encrypt(plain.getvalue(), passphrase))
        file.flush()
        os.fsync(file.fileno())


# Reading


def is_encrypted(path: Path) -> bool:
    """Whether the file is encrypted by age. Raises :class:`BackupError` if it cannot be read."""
    with _readable(path) as file:
        return file.read(len(_AGE)) == _AGE


def members(path: Path, passphrase: str | None) -> Iterator[tuple[str, IO[bytes]]]:
    """Each regular file of a backup: its name, and its bytes, to be read at once.

    To be used within :func:`reading`. Raises :class:`BackupError` for an unsafe or repeated name,
    or a wrong passphrase.
    """
    from zstandard import ZstdDecompressor

    seen: set[str] = set()
    with _plain(path, passphrase) as file:
        packed = ZstdDecompressor().stream_reader(file, read_across_frames=True)
        with tarfile.open(fileobj=packed, mode="r|") as tar:
            for member in tar:
                data = tar.extractfile(member) if member.isreg() else None
                if data is None or not _is_safe(member.name) or member.name in seen:
                    raise BackupError(f"{path} holds {member.name!r}, which no backup holds")
                seen.add(member.name)
                yield member.name, data


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Raises :class:`BackupError` where the file turns out to be damaged, or no backup."""
    from zstandard import ZstdError

    try:
        yield
    except (tarfile.TarError, ZstdError, EOFError) as error:
        why = "it ends early" if str(error) in ("", "empty file") else str(error)
        raise BackupError(f"{path} is damaged, or no backup ({why}); take another one") from error


def read_manifest(data: IO[bytes]) -> Manifest:
    """Read the member ``manifest.json``. Raises :class:`BackupError`."""
    return Manifest.from_json(data.read(MOST_MANIFEST))


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
            raise BackupError(f"{path} is encrypted, and no passphrase was given")
        try:
            yield io.BytesIO(pyrage.passphrase.decrypt(file.read(), passphrase))
        except pyrage.DecryptError as error:
            raise BackupError(
                f"{path} is not opened by this passphrase, or is damaged ({error})"
            ) from None


def as_dict(manifest: Manifest) -> dict[str, Any]:
    """The manifest without its files, for ``--json``."""
    told = asdict(manifest)
    return told | {"files": len(manifest.files)}
