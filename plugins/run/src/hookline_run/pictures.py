"""What ``--image`` takes: a picture, known by its first bytes."""

from __future__ import annotations

from pathlib import Path

from hookline_hookspecs import Attachment, CommandError

_MIME_TYPES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}


def attachment(path: Path) -> Attachment:
    """The picture at ``path``. Raises ``CommandError`` if it cannot be read or is none."""
    try:
        with path.open("rb") as file:
            head = file.read(16)
    except OSError as error:
        raise CommandError(f"--image {path}: {error.strerror or error}") from error
    mime = _mime_type(head)
    if mime is None:
        raise CommandError(f"--image {path}: not a PNG, JPEG, GIF or WebP picture")
    return Attachment(path.resolve(), mime, path.name, path.stat().st_size)


def _mime_type(head: bytes) -> str | None:
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return next((mime for start, mime in _MIME_TYPES.items() if head.startswith(start)), None)
