"""What ``--image`` takes: a picture, known by its first bytes."""

from __future__ import annotations

import os
from pathlib import Path

from hookline_hookspecs import Attachment, CommandError
from hookline_hookspecs.regular_files import open_regular

LARGEST = 20_000_000
"""Bytes of a picture; what the channels take, and more than the providers do."""

_MIME_TYPES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}


def attachment(path: Path) -> Attachment:
    """The picture at ``path``. Raises ``CommandError`` if it cannot be read or is none."""
    real = Path(os.path.realpath(path))
    try:
        with open_regular(real) as file:
            size = os.fstat(file.fileno()).st_size
            head = file.read(16)
    except OSError as error:
        raise CommandError(f"--image {path}: {error.strerror or error}") from error
    mime = _mime_type(head)
    if mime is None:
        raise CommandError(f"--image {path}: not a PNG, JPEG, GIF or WebP picture")
    if size > LARGEST:
        raise CommandError(
            f"--image {path}: {size:,} bytes are too many for a model, which takes {LARGEST:,} at "
            "most; send a smaller picture"
        )
    return Attachment(real, mime, path.name, size)


def _mime_type(head: bytes) -> str | None:
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return next((mime for start, mime in _MIME_TYPES.items() if head.startswith(start)), None)
