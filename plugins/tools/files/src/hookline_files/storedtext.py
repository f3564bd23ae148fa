"""How a text is stored: encoding and byte order mark, told from its bytes, and line ending."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from hookline_textmatch import newline_of

MARKS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""Byte order marks; UTF-32's comes first because UTF-16's is its beginning."""
SNIFFED = 65_536
"""Bytes at the front of a file that decide whether it is binary."""
CONTROL_SHARE = 0.03
"""Share of control bytes above which bytes that are not Unicode count as binary. Random bytes
have 0.1, legacy text has none."""

_CONTROLS = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1b"))


class BinaryContent(ValueError):
    """The bytes are no text; the message says how that shows."""


@dataclass(frozen=True, slots=True)
class Form:
    """The way a text is stored. ``encoding`` is a codec without mark, ``mark`` the bytes before
    the text, ``newline`` one of ``\\n``, ``\\r\\n``, ``\\r``."""

    encoding: str = "utf-8"
    mark: bytes = b""
    newline: str = "\n"

    def encode(self, text: str) -> bytes:
        """The bytes of ``text``. Raises ``UnicodeEncodeError``."""
        return self.mark + text.encode(self.encoding)


def decode(data: bytes) -> tuple[str, Form]:
    """The text of a whole file with its own line endings, and how it is stored.

    ``form.encode(text)`` gives the same bytes again.

    Raises:
        BinaryContent: the bytes are no text.
    """
    encoding, mark = encoding_of(data)
    body = data[len(mark) :]
    try:
        text = body.decode(encoding)
    except UnicodeDecodeError as error:
        if mark:
            raise BinaryContent(f"it starts like {encoding} but is not") from error
        encoding = _legacy(body)
        text = body.decode(encoding)
    if "\0" in text:
        raise BinaryContent("it holds NUL characters")
    return text, Form(encoding, mark, newline_of(text))


def encoding_of(head: bytes) -> tuple[str, bytes]:
    """Codec and byte order mark, from at least the first :data:`SNIFFED` bytes of a file.

    Raises:
        BinaryContent: the bytes are no text.
    """
    for mark, encoding in MARKS:
        if head.startswith(mark):
            return encoding, mark
    if b"\0" in head[:SNIFFED]:
        raise BinaryContent("it holds NUL bytes")
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return _legacy(head), b""
    return "utf-8", b""


def _legacy(body: bytes) -> str:
    head = body[:SNIFFED]
    controls = len(head) - len(head.translate(None, _CONTROLS))
    if controls > CONTROL_SHARE * len(head):
        raise BinaryContent("it is full of control characters")
    try:
        body.decode("cp1252")
    except UnicodeDecodeError:
        return "latin-1"
    return "cp1252"
