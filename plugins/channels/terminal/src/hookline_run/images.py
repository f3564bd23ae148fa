"""Image files for ``--image``, recognized by their first bytes."""

from __future__ import annotations

import os
from pathlib import Path

from hookline_hookspecs import Attachment, CommandError
from hookline_hookspecs.file_origins import local_file_origins
from hookline_hookspecs.image_kinds import MAX_IMAGE_BYTES, image_kind
from hookline_hookspecs.regular_files import open_regular


def attachment(path: Path) -> Attachment:
    """Return the image at ``path``. Raises ``CommandError`` if it cannot be read or used."""
    real = Path(os.path.realpath(path))
    try:
        with open_regular(real) as file:
            size = os.fstat(file.fileno()).st_size
            head = file.read(16)
    except OSError as error:
        raise CommandError(f"--image {path}: {error.strerror or error}") from error
    kind = image_kind(head)
    if kind is None:
        raise CommandError(f"--image {path}: not a PNG, JPEG, GIF or WebP image")
    if size > MAX_IMAGE_BYTES:
        raise CommandError(
            f"--image {path}: {size:,} bytes are too many. The limit is {MAX_IMAGE_BYTES:,}; send "
            "a smaller image"
        )
    return Attachment(real, kind.mime, path.name, size, origins=local_file_origins(real))
