"""Picture types, judged by the first bytes of a file and never by its name."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PictureKind:
    """A type of picture."""

    name: str
    mime: str
    suffix: str


_PNG = PictureKind("PNG", "image/png", ".png")
_JPEG = PictureKind("JPEG", "image/jpeg", ".jpg")
_GIF = PictureKind("GIF", "image/gif", ".gif")
_WEBP = PictureKind("WebP", "image/webp", ".webp")


def picture_kind(head: bytes) -> PictureKind | None:
    """What the file that begins with ``head`` (12 bytes or more) is, or None.

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
