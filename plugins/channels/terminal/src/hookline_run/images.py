"""Image files for ``--image``, recognized by their first bytes."""

from __future__ import annotations

import os
from pathlib import Path

from hookline_hookspecs import Attachment, CommandError
from hookline_hookspecs.regular_files import open_regular

MAX_IMAGE_BYTES = 20_000_000
"""As in the channels; providers accept less."""

_MIME_TYPES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}


def attachment(path: Path) -> Attachment:
    """Return the image at ``path``. Raises ``CommandError`` if it cannot be read or used."""
    real = Path(os.path.realpath(path))
    try:
        with open_regular(real) as file:
            size = os.fstat(file.fileno()).st_size
            head = file.read(16)
    except OSError as error:
        raise CommandError(f"--image {path}: {error.strerror or error}") from error
    mime = _mime_type(head)
    if mime is None:
        raise CommandError(f"--image {path}: not a PNG, JPEG, GIF or WebP image")
    if size > MAX_IMAGE_BYTES:
        raise CommandError(
            f"--image {path}: {size:,} bytes are too many. The limit is {MAX_IMAGE_BYTES:,}; send "
            "a smaller image"
        )
    return Attachment(real, mime, path.name, size)


def _mime_type(head: bytes) -> str | None:
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return next((mime for start, mime in _MIME_TYPES.items() if head.startswith(start)), None)
