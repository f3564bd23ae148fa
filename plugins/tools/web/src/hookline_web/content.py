"""Detects the kind and encoding of a response and decodes it."""

from __future__ import annotations

import codecs
import re
from typing import Literal

from hookline_hookspecs import ToolError

Kind = Literal["html", "plain"]

_CHARSET = re.compile(r"charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
# The encoding declared by a page, within its first 1,024 bytes (HTML, section 4.2.5.4; XML 1.0,
# section 4.3.3).
_DECLARED = re.compile(
    rb"<(?:meta|\?xml)\b[^>]{0,512}?(?:charset|encoding)\s*=\s*[\"']?([\w.:-]+)", re.I
)
_HTML = re.compile(
    rb"\s*(?:<!--.{0,512}?-->\s*)*<(?:!doctype\s+html|html|head|body)\b", re.I | re.S
)
_HTML_TYPES = ("text/html", "application/xhtml+xml")
_PLAIN_TYPES = re.compile(
    r"text/.*|application/(?:.*\+)?(?:json|xml|yaml|toml)|application/(?:x-)?(?:ndjson|jsonlines|"
    r"javascript|ecmascript|typescript|yaml|toml|sh|httpd-php|tex|sql|graphql|rtf|subrip)|"
    r"(?:image|model|message)/.*\+(?:xml|json)"
)
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark is a prefix of this one
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_BINARY_CHARACTER = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f\ufffd]")
# Encoding Standard, section 4.2: on the web these names mean their Windows supersets.
_SUPERSETS = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "tis-620": "cp874",
}


def content_kind(content_type: str) -> Kind | None:
    """The kind that a ``Content-Type`` header declares; None if it declares none.

    Raises:
        ToolError: the type is not text.
    """
    mime = content_type.partition(";")[0].strip().lower()
    if mime in _HTML_TYPES:
        return "html"
    if _PLAIN_TYPES.fullmatch(mime):
        return "plain"
    if not mime or "/" not in mime:
        return None
    raise ToolError(f"it is {mime[:80]}, and only HTML, JSON and other text is read")


def decode_text(data: bytes, content_type: str, kind: Kind | None) -> tuple[str, Kind]:
    """The text without byte order mark, lines ending in ``\\n``, and its kind.

    The encoding is that of a byte order mark, else of the header, else of the page itself, else
    UTF-8, or Windows-1252 if the bytes are not UTF-8. Invalid bytes become U+FFFD.

    Raises:
        ToolError: the data is binary, whatever the header says.
    """
    if kind is None:
        kind = "html" if _HTML.match(data[:2_048]) else "plain"
    mark, encoding = next((m for m in _BYTE_ORDER_MARKS if data.startswith(m[0])), (b"", None))
    text = _decode(data[len(mark) :], encoding or _declared_encoding(data, content_type, kind))
    odd = len(_BINARY_CHARACTER.findall(text[:100_000]))
    if odd > 3 + min(len(text), 100_000) // 20:
        raise ToolError("it is declared as text but is binary, or in an undeclared encoding")
    return text.replace("\0", "").replace("\r\n", "\n").replace("\r", "\n"), kind


def _declared_encoding(data: bytes, content_type: str, kind: Kind) -> str | None:
    named = _CHARSET.search(content_type)
    found = _codec(named[1]) if named else None
    if found is None and (kind == "html" or data.startswith(b"<?xml")):
        inside = _DECLARED.search(data[:1_024])
        found = _codec(inside[1].decode("ascii", "replace")) if inside else None
        # It was found by reading ASCII, so it cannot be these (HTML, section 13.2.3.2).
        found = "utf-8" if found and found.startswith(("utf-16", "utf-32")) else found
    return found


def _codec(name: str) -> str | None:
    """Python's name of a text encoding; None for other codecs, such as ``rot13``."""
    try:
        found = codecs.lookup(name)
        if not isinstance(found.decode(b"")[0], str) or found.name in ("idna", "punycode"):
            return None
        "x".encode(found.name)
    except (LookupError, UnicodeError, TypeError, ValueError):
        return None
    return _SUPERSETS.get(found.name, found.name)


def _decode(data: bytes, encoding: str | None) -> str:
    for name in (encoding,) if encoding else ("utf-8", "cp1252"):
        try:
            # A cut may have split the last character.
            return codecs.getincrementaldecoder(name)().decode(data)
        except UnicodeError:
            continue
    return data.decode(encoding or "utf-8", "replace")
