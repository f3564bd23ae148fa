"""Types of files, judged by their content and never by their names."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path

from hookline_hookspecs import Attachment, Audio, HooklineError
from hookline_hookspecs.speech import audio_kind

HEAD = 4096
"""Bytes that are looked at."""
UNKNOWN = "application/octet-stream"
"""What is none of the known types."""
_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
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


class Unfit(HooklineError):
    """A file cannot be sent; the text is a sentence for the person."""


def kind_of(head: bytes) -> str:
    """The type of a file that begins with ``head`` (:data:`HEAD` bytes of it).

    ``application/octet-stream`` if it is none of those known here; ``text/plain`` if it is UTF-8
    without control characters.
    """
    for signature, mime in _SIGNATURES:
        if head.startswith(signature):
            return _zipped(head) if mime == "application/zip" else mime
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    if head[4:8] == b"ftyp" and head[8:11] not in (b"M4A", b"M4B"):
        return "image/heic" if head[8:12] in (b"heic", b"heix", b"mif1") else "video/mp4"
    if (sound := audio_kind(head)) is not None:
        return sound.mime
    return "text/plain" if _is_text(head) else UNKNOWN


def suffix_of(mime: str) -> str:
    """The usual end of a file's name, empty where there is none."""
    return _SUFFIXES.get(mime, "")


def _zipped(head: bytes) -> str:
    """OpenXML documents begin with their list of types."""
    if b"[Content_Types].xml" not in head and b"_rels/.rels" not in head:
        return "application/zip"
    return next((mime for part, mime in _OFFICE if part in head), "application/zip")


def _is_text(head: bytes) -> bool:
    if any(byte < 32 and byte not in b"\t\n\r\x0c\x1b" for byte in head):
        return False
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        return len(head) >= HEAD and error.start >= len(head) - 3
    return True


def checked(item: Attachment | Audio, limit: int) -> Attachment | Audio:
    """The file with its size and type as they are. Raises :class:`Unfit`."""
    name = item.name if isinstance(item, Attachment) else item.path.name
    head, size = _looked_at(item.path, name)
    if size > limit:
        raise Unfit(
            f"The file {name} has {size:,} bytes, and {limit:,} can be sent here; "
            f"ask for a smaller one."
        )
    if size == 0:
        raise Unfit(f"The file {name} is empty, so that it is not sent.")
    mime = kind_of(head)
    if isinstance(item, Audio):
        if audio_kind(head) is None:
            return Attachment(item.path, mime, name, size)
        return replace(item, mime=mime if mime.startswith("audio/") else item.mime)
    known = mime if mime not in (UNKNOWN, "text/plain", "application/zip") else item.mime or mime
    return replace(item, mime=known, size=size)


def _looked_at(path: Path, name: str) -> tuple[bytes, int]:
    """The beginning and the size of a regular file."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode):
                raise Unfit(f"{name} is no file, so that it is not sent.")
            return os.read(handle, HEAD), found.st_size
        finally:
            os.close(handle)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise Unfit(f"The file {name} cannot be sent: {reason}.") from None
