"""How a text is stored: encoding, byte order mark and line ending, told from its bytes."""

from __future__ import annotations

import codecs
import re
from bisect import bisect_left
from dataclasses import dataclass

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


def newline_of(text: str, default: str = "\n") -> str:
    """The line ending that ``text`` uses most; ``default`` if it has none."""
    crlf = text.count("\r\n")
    lf = text.count("\n") - crlf
    if crlf or lf:
        return "\r\n" if crlf > lf else "\n"
    return "\r" if "\r" in text else default


class View:
    """A text as the model sees it, every line ending being ``\\n``.

    A lone ``\\r`` ends a line only where the text has no ``\\n`` at all.
    """

    def __init__(self, text: str) -> None:
        self._shortened: list[int] = []
        if "\n" not in text:
            self.text = text.replace("\r", "\n")
        elif "\r\n" in text:
            found = enumerate(re.finditer("\r\n", text))
            self._shortened = [match.start() - before for before, match in found]
            self.text = text.replace("\r\n", "\n")
        else:
            self.text = text

    def original(self, offset: int) -> int:
        """The offset in the stored text of the character at ``offset`` here."""
        return offset + bisect_left(self._shortened, offset)

    def line(self, offset: int) -> int:
        """The number, from 1, of the line that holds ``offset``."""
        return self.text.count("\n", 0, offset) + 1


def lines_of(text: str) -> list[str]:
    """The lines as the model sees them; an ending after the last line starts no new one."""
    lines = View(text).text.split("\n")
    return lines if lines[-1] else lines[:-1]
