"""Pictures that a message refers to: they go with the message itself, as attachments."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import PurePath

from hookline_hookspecs import Attachment, Paths

from .grammar import Reference

SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp"})
"""Names that make a file worth opening; what it is, its first bytes say."""
LARGEST = 20_000_000
"""Bytes of a picture; more than the providers take."""
MOST = 20
"""Pictures of one message."""
_TYPES = {
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}


async def taken(found: Sequence[Reference], paths: Paths) -> tuple[Attachment, ...]:
    """Return the pictures among the files in ``found``, each once; nothing is raised."""
    return await asyncio.to_thread(_pictures, found, paths)


def _pictures(found: Sequence[Reference], paths: Paths) -> tuple[Attachment, ...]:
    taken: dict[str, Attachment] = {}
    for reference in found:
        if reference.kind != "file" or not is_named_like_one(reference.value):
            continue
        picture = _picture(reference, paths)
        if picture is not None and len(taken) < MOST:
            taken.setdefault(str(picture.path), picture)
    return tuple(taken.values())


def is_named_like_one(path: str) -> bool:
    """Whether the name is that of a picture."""
    return PurePath(path).suffix.lower() in SUFFIXES


def _picture(reference: Reference, paths: Paths) -> Attachment | None:
    try:
        real = paths.resolve(reference.value)
        with paths.open_read(real) as stream:
            size = os.fstat(stream.fileno()).st_size
            mime = mime_type(stream.read(16))
    except (OSError, ValueError):
        return None  # The reason is given where the reference is resolved.
    if mime is None or size > LARGEST:
        return None
    return Attachment(real, mime, real.name, size)


def mime_type(head: bytes) -> str | None:
    """Return the type of a picture by its first 16 bytes, or None if models take no such."""
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return next((mime for start, mime in _TYPES.items() if head.startswith(start)), None)
