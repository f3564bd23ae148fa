"""Image types, detected from the first bytes of a file and never from its name."""

from __future__ import annotations

from dataclasses import dataclass

MAX_IMAGE_BYTES = 20_000_000
"""Bytes of an image that a message may carry. Providers accept less, each with its own limit."""


@dataclass(frozen=True, slots=True)
class ImageKind:
    """A type of image that models accept."""

    name: str
    mime: str
    suffix: str


_PNG = ImageKind("PNG", "image/png", ".png")
_JPEG = ImageKind("JPEG", "image/jpeg", ".jpg")
_GIF = ImageKind("GIF", "image/gif", ".gif")
_WEBP = ImageKind("WebP", "image/webp", ".webp")


def image_kind(head: bytes) -> ImageKind | None:
    """Return the type of the file that begins with ``head`` (12 bytes or more), or None.

    Signatures: PNG (W3C, section 5.2), JPEG (ITU T.81, SOI and a marker), GIF87a and GIF89a,
    WebP (RFC 9649, section 2.4).
    """
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return _PNG
    if head.startswith(b"\xff\xd8\xff"):
        return _JPEG
    if head[:6] in (b"GIF87a", b"GIF89a"):
        return _GIF
    return _WEBP if head[:4] == b"RIFF" and head[8:12] == b"WEBP" else None
