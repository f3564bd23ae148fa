"""Attaches the pictures that a message refers to."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import PurePath

from hookline_hookspecs import Attachment, Paths
from hookline_hookspecs.file_origins import local_file_origins
from hookline_hookspecs.image_kinds import MAX_IMAGE_BYTES, image_kind

from .grammar import Reference

PICTURE_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp"})
"""Suffixes of files that are opened; the type is then read from their first bytes."""
MAX_PICTURES = 20
"""Pictures attached to one message."""


async def load_pictures(references: Sequence[Reference], paths: Paths) -> tuple[Attachment, ...]:
    """Return the pictures among the referenced files, each once. Files that cannot be read are
    left out."""
    return await asyncio.to_thread(_load_pictures, references, paths)


def _load_pictures(references: Sequence[Reference], paths: Paths) -> tuple[Attachment, ...]:
    pictures: dict[str, Attachment] = {}
    for reference in references:
        if reference.kind != "file" or not has_picture_suffix(reference.value):
            continue
        picture = _load_picture(reference, paths)
        if picture is not None and len(pictures) < MAX_PICTURES:
            pictures.setdefault(str(picture.path), picture)
    return tuple(pictures.values())


def has_picture_suffix(path: str) -> bool:
    """Return whether the path ends like a picture's."""
    return PurePath(path).suffix.lower() in PICTURE_SUFFIXES


def _load_picture(reference: Reference, paths: Paths) -> Attachment | None:
    try:
        real = paths.resolve(reference.value)
        with paths.open_read(real) as stream:
            size = os.fstat(stream.fileno()).st_size
            kind = image_kind(stream.read(16))
    except (OSError, ValueError):
        return None  # The reason is given where the reference is resolved.
    if kind is None or size > MAX_IMAGE_BYTES:
        return None
    return Attachment(real, kind.mime, real.name, size, origins=local_file_origins(real))
