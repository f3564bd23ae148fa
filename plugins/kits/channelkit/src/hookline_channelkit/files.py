"""Detects types of files by their content, never by their names; prepares files to be sent."""

from __future__ import annotations

import asyncio
import os
import stat
from dataclasses import dataclass, replace
from pathlib import Path

from hookline_hookspecs import Attachment, Audio, HooklineError
from hookline_hookspecs.image_kinds import image_kind
from hookline_hookspecs.speech import audio_kind, seconds

SNIFF_BYTES = 4096
"""Bytes of a file that determine its type."""
UNKNOWN_MIME = "application/octet-stream"
_SIGNATURES = (
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"PK\x05\x06", "application/zip"),
    (b"\x1f\x8b\x08", "application/gzip"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"SQLite format 3\x00", "application/vnd.sqlite3"),
)
_OFFICE = (
    (b"word/", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    (b"xl/", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    (b"ppt/", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
)
_SUFFIXES = {
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "image/gif": ".gif",
    "image/webp": ".webp",
    "application/pdf": ".pdf",
    "application/zip": ".zip",
    "text/plain": ".txt",
    "video/mp4": ".mp4",
    "audio/ogg": ".ogg",
    "audio/mpeg": ".mp3",
    "audio/wav": ".wav",
    "audio/mp4": ".m4a",
}


class UnsupportedFile(HooklineError):
    """A file cannot be sent. The text is a sentence for the person who gets the reply."""


def sniff_mime(head: bytes) -> str:
    """Return the type of a file that begins with ``head`` (:data:`SNIFF_BYTES` bytes of it).

    ``text/plain`` if it is UTF-8 without control characters, ``application/octet-stream`` if it is
    none of the known types.
    """
    for signature, mime in _SIGNATURES:
        if head.startswith(signature):
            return _zip_mime(head) if mime == "application/zip" else mime
    if (image := image_kind(head)) is not None:
        return image.mime
    if head[4:8] == b"ftyp" and head[8:11] not in (b"M4A", b"M4B"):
        return "image/heic" if head[8:12] in (b"heic", b"heix", b"mif1") else "video/mp4"
    if (sound := audio_kind(head)) is not None:
        return sound.mime
    return "text/plain" if _is_text(head) else UNKNOWN_MIME


def suffix_of(mime: str) -> str:
    """Return the usual suffix of a file name for a type; empty if there is none."""
    return _SUFFIXES.get(mime, "")


def _zip_mime(head: bytes) -> str:
    """OpenXML documents start with a list of their parts."""
    if b"[Content_Types].xml" not in head and b"_rels/.rels" not in head:
        return "application/zip"
    return next((mime for part, mime in _OFFICE if part in head), "application/zip")


def _is_text(head: bytes) -> bool:
    if any(byte < 32 and byte not in b"\t\n\r\x0c\x1b" for byte in head):
        return False
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        return len(head) >= SNIFF_BYTES and error.start >= len(head) - 3
    return True


def check_outgoing(item: Attachment | Audio, max_bytes: int) -> Attachment | Audio:
    """Return the file with its real size and type. Raises :class:`UnsupportedFile`."""
    name = item.name if isinstance(item, Attachment) else item.path.name
    head, size = _read_head(item.path, name)
    if size > max_bytes:
        raise UnsupportedFile(
            f"The file {name} has {size:,} bytes, and the limit here is {max_bytes:,}. "
            "Ask for a smaller one."
        )
    if size == 0:
        raise UnsupportedFile(f"The file {name} is empty and was not sent.")
    mime = sniff_mime(head)
    if isinstance(item, Audio):
        if audio_kind(head) is None:
            return Attachment(item.path, mime, name, size, origins=item.origins)
        return replace(item, mime=mime if mime.startswith("audio/") else item.mime)
    known = (
        mime if mime not in (UNKNOWN_MIME, "text/plain", "application/zip") else item.mime or mime
    )
    return replace(item, mime=known, size=size)


def _read_head(path: Path, name: str) -> tuple[bytes, int]:
    """Return the first bytes and the size of a regular file."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode):
                raise UnsupportedFile(f"{name} is not a regular file and was not sent.")
            return os.read(handle, SNIFF_BYTES), found.st_size
        finally:
            os.close(handle)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UnsupportedFile(f"The file {name} cannot be sent: {reason}.") from None


@dataclass(frozen=True, slots=True)
class Upload:
    """A file to be sent, read into memory.

    Attributes:
        name: the file name that people see.
        data: its bytes.
        mime: its type, determined by its content.
        is_sound: it is an ``Audio``.
        is_opus: it is an ``Audio`` in OGG/Opus, which platforms show as a voice message.
        seconds: the duration of a sound, 0 if it is not known.
        waveform: of a sound, see ``Audio``.
    """

    name: str
    data: bytes
    mime: str
    is_sound: bool = False
    is_opus: bool = False
    seconds: float = 0.0
    waveform: bytes = b""

    @classmethod
    async def of(cls, item: Attachment | Audio) -> Upload:
        """Read a file from disk."""
        data = await asyncio.to_thread(item.path.read_bytes)
        if isinstance(item, Attachment):
            return cls(item.name, data, item.mime)
        kind = audio_kind(data)
        is_opus = kind is not None and kind.name == "opus"
        length = item.duration or seconds(data)
        return cls(item.path.name, data, item.mime, True, is_opus, length, item.waveform)
