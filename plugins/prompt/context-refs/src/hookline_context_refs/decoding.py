"""Decodes bytes and cuts text to a limit."""

from __future__ import annotations

import codecs

from hookline_hookspecs.file_names import shown_name
from hookline_textmatch import escape_encoding, legacy_encoding, unmarked_unicode

from .reference_content import UnresolvedReference

MARKS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""Byte order marks; UTF-32's comes first because UTF-16's is its beginning."""

MAX_SHOWN_CHARS = 200
"""Characters of a reference in a notice."""


def decode(data: bytes, encoding: str = "") -> tuple[str, str]:
    """Return the text without byte order mark and with ``\\n`` as line ending, and a warning if
    the encoding is a guess.

    ``encoding`` is used if there is no byte order mark; without it, UTF-8 or the encoding whose
    letters fit.

    Raises:
        UnresolvedReference: the bytes are not text.
    """
    mark, encoding = next((m for m in MARKS if data.startswith(m[0])), (b"", encoding))
    body, warning = data[len(mark) :], ""
    if not encoding:
        encoding, warning = _encoding(body)
    try:
        text = body.decode(encoding)
    except UnicodeError as error:
        raise UnresolvedReference(f"it is binary or not encoded as {encoding}") from error
    if "\0" in text:
        raise UnresolvedReference("it is binary: it contains NUL bytes")
    text = text.replace("\r\n", "\n")
    # Lone carriage returns are line endings only in old files, which have no \\n.
    return (text if "\n" in text else text.replace("\r", "\n")), warning


def _encoding(body: bytes) -> tuple[str, str]:
    if codec := unmarked_unicode(body) or escape_encoding(body):
        return codec, ""
    try:
        body.decode("utf-8")
    except UnicodeError:
        if sum(byte < 32 and byte not in b"\t\n\v\f\r\x1b" for byte in body) > len(body) * 0.03:
            raise UnresolvedReference("it is binary") from None
        guess = legacy_encoding(body)
        unsure = "is not UTF-8 and its encoding is not certain; read as " + guess.codec
        return guess.codec, "" if guess.certain else unsure
    return "utf-8", ""


def cut_chars(text: str, limit: int) -> tuple[str, str]:
    """Return the first ``limit`` characters, and a note that counts the others, empty if none."""
    if len(text) <= limit:
        return text, ""
    return text[:limit], f"[… {len(text) - limit} characters left out]"


def cut_bytes(text: str, limit: int) -> tuple[str, str]:
    """Like :func:`cut_chars`, but with ``limit`` in bytes of UTF-8; no character is split."""
    data = text.encode("utf-8", "replace")
    if len(data) <= limit:
        return text, ""
    kept = data[:limit].decode("utf-8", "ignore")
    return kept, f"[… {len(text) - len(kept)} characters left out]"


def shorten(name: str) -> str:
    """Return ``name`` for a notice: on one line, and cut if it is long."""
    shown = shown_name(name)
    return shown if len(shown) <= MAX_SHOWN_CHARS else f"{shown[: MAX_SHOWN_CHARS - 1]}…"
