"""How a text is stored: encoding, byte order mark and line endings, detected from its bytes."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from hookline_textmatch import newline_of

BYTE_ORDER_MARKS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""Byte order marks; those of UTF-32 come first because they begin with those of UTF-16."""
SNIFF_BYTES = 65_536
"""Bytes at the start of a file that decide whether it is binary."""
MAX_CONTROL_SHARE = 0.03
"""Above this share of control bytes, data that is not Unicode counts as binary. Random bytes have
0.1, legacy text has none."""

_CONTROLS = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1b"))


class BinaryContent(ValueError):
    """The bytes are not text; the message says why."""


@dataclass(frozen=True, slots=True)
class TextEncoding:
    """The way a text is stored. ``encoding`` is a codec without mark, ``mark`` the byte
    order mark, ``newline`` one of ``\\n``, ``\\r\\n``, ``\\r``."""

    encoding: str = "utf-8"
    mark: bytes = b""
    newline: str = "\n"

    def encode(self, text: str) -> bytes:
        """The bytes of ``text``. Raises ``UnicodeEncodeError``."""
        return self.mark + text.encode(self.encoding)


def decode(data: bytes) -> tuple[str, TextEncoding]:
    """The text of a whole file with its own line endings, and how it is stored.

    ``form.encode(text)`` gives the same bytes again.

    Raises:
        BinaryContent: the bytes are not text.
    """
    encoding, mark = detect_encoding(data)
    body = data[len(mark) :]
    try:
        text = body.decode(encoding)
    except UnicodeDecodeError as error:
        if mark:
            raise BinaryContent(f"it starts like {encoding} but is not") from error
        encoding = _legacy_encoding(body)
        text = body.decode(encoding)
    if "\0" in text:
        raise BinaryContent("it contains NUL characters")
    return text, TextEncoding(encoding, mark, newline_of(text))


def detect_encoding(head: bytes) -> tuple[str, bytes]:
    """Codec and byte order mark, from at least the first :data:`SNIFF_BYTES` bytes of a file.

    Raises:
        BinaryContent: the bytes are not text.
    """
    for mark, encoding in BYTE_ORDER_MARKS:
        if head.startswith(mark):
            return encoding, mark
    if b"\0" in head[:SNIFF_BYTES]:
        raise BinaryContent("it contains NUL bytes")
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return _legacy_encoding(head), b""
    return "utf-8", b""


def _legacy_encoding(body: bytes) -> str:
    head = body[:SNIFF_BYTES]
    controls = len(head) - len(head.translate(None, _CONTROLS))
    if controls > MAX_CONTROL_SHARE * len(head):
        raise BinaryContent("it is full of control characters")
    try:
        body.decode("cp1252")
    except UnicodeDecodeError:
        return "latin-1"
    return "cp1252"
