"""Encodings that a text shows by its structure: UTF-16 and UTF-32 without a byte order mark, and
the escape sequences of ISO 2022."""

from __future__ import annotations

import unicodedata
from functools import cache

MAX_JUDGED_BYTES = 65_536
MIN_FAMILIAR_SHARE = 0.95
"""Share of characters of living scripts; random 16-bit numbers have 0.4."""
_WIDE_CODECS = ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")
_ESCAPES = (b"\x1b$@", b"\x1b$B", b"\x1b$(", b"\x1b$)", b"\x1b$A", b"\x1b(I", b"\x1b(J")
_ISO_2022 = ("iso2022_jp", "iso2022_jp_2", "iso2022_jp_3", "iso2022_jp_ext", "iso2022_kr")
_LEVEL_ONE = (("gb2312", 0xB0, 0xD7), ("cp932", 0x88, 0x97), ("big5", 0xA4, 0xC6))
"""Han characters that are common in Chinese or Japanese, by their first byte."""


def unmarked_unicode(body: bytes, *, cut: bool = False) -> str | None:
    """Return the codec of ``body`` if it is text in UTF-16 or UTF-32 without a mark.

    Only bytes with a NUL among them are looked at: text in these encodings has some unless it is
    without a blank, a full stop and a line break.

    Args:
        body: the bytes; binary data gives None.
        cut: the end may be in the middle of a character.
    """
    if b"\0" not in body[:MAX_JUDGED_BYTES]:
        return None
    found = []
    for codec in _WIDE_CODECS:
        width = 4 if "32" in codec else 2
        if not cut and len(body) % width:
            continue
        head = body[: min(len(body), MAX_JUDGED_BYTES) // width * width]
        if (share := _familiar_share(head, codec)) >= MIN_FAMILIAR_SHARE:
            found.append((share, codec))
    return max(found)[1] if found else None


def escape_encoding(body: bytes) -> str | None:
    """Return the codec of ``body`` if it is ASCII with escape sequences of ISO 2022 that fit."""
    if not body.isascii() or not any(escape in body for escape in _ESCAPES):
        return None
    for codec in _ISO_2022:
        try:
            text = body.decode(codec)
        except UnicodeError:
            continue
        if not text.isascii() and "\x1b" not in text and text.encode(codec, "replace") == body:
            return codec
    return None


def _familiar_share(body: bytes, codec: str) -> float:
    """Return the share of characters that are usual in texts; 0 if any can be in none.

    ASCII counts most, so that of two readings the one in the right byte order wins.
    """
    try:
        text = body.decode(codec)
    except UnicodeError as error:
        # The last character of a cut text may be half of a pair.
        if error.reason != "unexpected end of data" or error.start < len(body) - 2:  # type: ignore[attr-defined]
            return 0.0
        text = body[: error.start].decode(codec)  # type: ignore[attr-defined]
    if len(text) < 2 or not all(map(_may_be_text, set(text))):
        return 0.0
    plain = sum(char.isascii() for char in text)
    if not plain:
        return 0.0
    return (sum(map(_is_familiar, text)) + 0.01 * plain) / len(text)


@cache
def _may_be_text(char: str) -> bool:
    if char in "\t\n\v\f\r\x1b":
        return True
    return unicodedata.category(char) not in ("Cc", "Cn", "Co", "Cs")


@cache
def _is_familiar(char: str) -> bool:
    code = ord(char)
    if code < 0x1000 or 0x1E00 <= code < 0x2C00 or 0x3000 <= code < 0x3100 or code >= 0x1F000:
        return True
    if 0xAC00 <= code < 0xD7B0:
        return _encodes(char, "euc_kr", 0xB0, 0xC8)
    if 0xFF00 <= code < 0xFFF0:
        return True
    return any(_encodes(char, *level) for level in _LEVEL_ONE)


def _encodes(char: str, codec: str, first: int, last: int) -> bool:
    try:
        return first <= char.encode(codec)[0] <= last
    except UnicodeEncodeError:
        return False
