"""Bytes of a response as text: what kind they are, and in which encoding."""

from __future__ import annotations

import codecs
import re
from typing import Literal

from hookline_hookspecs import ToolError

Kind = Literal["html", "plain"]

_CHARSET = re.compile(r"charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
# The ways in which a page tells its own encoding; it stands in the first 1,024 bytes (HTML,
# section 4.2.5.4; XML 1.0, section 4.3.3).
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
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark is its beginning
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_NO_TEXT = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f\ufffd]")
# Encoding Standard, section 4.2: under these names the web means Windows' superset.
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


def kind_of(content_type: str) -> Kind | None:
    """What a ``Content-Type`` header announces; None where it announces nothing.

    Raises:
        ToolError: something that is no text.
    """
    mime = content_type.partition(";")[0].strip().lower()
    if mime in _HTML_TYPES:
        return "html"
    if _PLAIN_TYPES.fullmatch(mime):
        return "plain"
    if not mime or "/" not in mime:
        return None
    raise ToolError(f"it is {mime[:80]}, and only HTML, JSON and other text is read")


def text_of(data: bytes, content_type: str, kind: Kind | None) -> tuple[str, Kind]:
    """The text without byte order mark, lines ending in ``\\n``, and its kind.

    A byte order mark tells the encoding, else the header, else the page itself, else it is UTF-8,
    or Windows-1252 where that does not fit. What does not fit becomes U+FFFD.

    Raises:
        ToolError: it is binary, whatever the header says.
    """
    if kind is None:
        kind = "html" if _HTML.match(data[:2_048]) else "plain"
    mark, encoding = next((m for m in _MARKS if data.startswith(m[0])), (b"", None))
    text = _decoded(data[len(mark) :], encoding or _announced(data, content_type, kind))
    odd = len(_NO_TEXT.findall(text[:100_000]))
    if odd > 3 + min(len(text), 100_000) // 20:
        raise ToolError("it is announced as text and is binary, or in an encoding it does not name")
    return text.replace("\0", "").replace("\r\n", "\n").replace("\r", "\n"), kind


def _announced(data: bytes, content_type: str, kind: Kind) -> str | None:
    named = _CHARSET.search(content_type)
    found = _codec(named[1]) if named else None
    if found is None and (kind == "html" or data.startswith(b"<?xml")):
        inside = _DECLARED.search(data[:1_024])
        found = _codec(inside[1].decode("ascii", "replace")) if inside else None
        # It was found by reading ASCII, so it is none of these (HTML, section 13.2.3.2).
        found = "utf-8" if found and found.startswith(("utf-16", "utf-32")) else found
    return found


def _codec(name: str) -> str | None:
    """Python's name of an encoding of text; None for what is none, such as ``rot13``."""
    try:
        found = codecs.lookup(name)
        if not isinstance(found.decode(b"")[0], str) or found.name in ("idna", "punycode"):
            return None
        "x".encode(found.name)
    except (LookupError, UnicodeError, TypeError, ValueError):
        return None
    return _SUPERSETS.get(found.name, found.name)


def _decoded(data: bytes, encoding: str | None) -> str:
    for name in (encoding,) if encoding else ("utf-8", "cp1252"):
        try:
            # A cut may have split the last character.
            return codecs.getincrementaldecoder(name)().decode(data)
        except UnicodeError:
            continue
    return data.decode(encoding or "utf-8", "replace")
