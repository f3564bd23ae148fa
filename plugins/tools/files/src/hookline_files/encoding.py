"""How a text is stored: encoding, byte order mark and line endings, detected from its bytes."""

from __future__ import annotations

import codecs
from dataclasses import dataclass, replace

from hookline_textmatch import escape_encoding, legacy_encoding, newline_of, unmarked_unicode

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
    certain: bool = True

    def uncertainty(self, path: str) -> str:
        """A note for the model if the encoding of ``path`` is a guess, else empty."""
        if self.certain:
            return ""
        return f"[{path} is not UTF-8 and its encoding is not certain; read as {self.encoding}]"

    def encode(self, text: str) -> bytes:
        """The bytes of ``text``. Raises ``UnicodeEncodeError``."""
        return self.mark + text.encode(self.encoding)


def decode(data: bytes) -> tuple[str, TextEncoding]:
    """The text of a whole file with its own line endings, and how it is stored.

    ``form.encode(text)`` gives the same bytes again.

    Raises:
        BinaryContent: the bytes are not text.
    """
    form = detect_encoding(data, whole=True)
    try:
        text = data[len(form.mark) :].decode(form.encoding)
    except UnicodeDecodeError as error:
        raise BinaryContent(f"it starts like {form.encoding} but is not") from error
    if "\0" in text:
        raise BinaryContent("it contains NUL characters")
    return text, replace(form, newline=newline_of(text))


def detect_encoding(head: bytes, *, whole: bool = False) -> TextEncoding:
    """Codec and byte order mark, from at least the first :data:`SNIFF_BYTES` bytes of a file.

    ``whole``: it is all of the file. The line ending is not detected.

    Raises:
        BinaryContent: the bytes are not text.
    """
    for mark, encoding in BYTE_ORDER_MARKS:
        if head.startswith(mark):
            return TextEncoding(encoding, mark)
    if codec := unmarked_unicode(head, cut=not whole):
        return TextEncoding(codec)
    if b"\0" in head[:SNIFF_BYTES]:
        raise BinaryContent("it contains NUL bytes")
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head, final=whole)
    except UnicodeDecodeError:
        return _legacy_encoding(head, whole=whole)
    lines = head if whole else head[: head.rfind(b"\n") + 1] or head
    return TextEncoding(escape_encoding(lines) or "utf-8")


def _legacy_encoding(body: bytes, *, whole: bool) -> TextEncoding:
    head = body[:SNIFF_BYTES]
    controls = len(head) - len(head.translate(None, _CONTROLS))
    if controls > MAX_CONTROL_SHARE * len(head):
        raise BinaryContent("it is full of control characters")
    guess = legacy_encoding(body, cut=not whole and len(body) >= SNIFF_BYTES)
    return TextEncoding(guess.codec, certain=guess.certain)
