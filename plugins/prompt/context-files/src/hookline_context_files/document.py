"""The text of one file: decoded from its bytes, and cut to the room it gets."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

BYTE_ORDER_MARKS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""Byte order marks; UTF-32's comes first because UTF-16's is its beginning."""


class NotText(ValueError):
    """The bytes are not text."""


@dataclass(frozen=True, slots=True)
class Shares:
    """The shares of its room that the start and the end of a long text get, from 0 to 1."""

    head: float
    tail: float


@dataclass(frozen=True, slots=True)
class Document:
    """A text of ``length`` code points, called ``label``.

    Only its ``start`` and ``end`` are stored, each with as many characters as can ever be shown.
    """

    label: str
    length: int
    start: str
    end: str

    @classmethod
    def of(cls, label: str, text: str, max_chars: int) -> Document:
        """Return a document for ``text``; at most ``max_chars`` characters will be shown."""
        return cls(label, len(text), text[:max_chars], text[-max_chars:])

    def cut(self, room: int, shares: Shares) -> str:
        """Return the whole text if it fits in ``room`` characters, else its start and its end.

        A marker between them says how many characters were left out. It counts towards the room and
        takes precedence; if the room is very small, only the marker is left.
        """
        if self.length <= room:
            return self.start
        head, tail = int(room * shares.head), int(room * shares.tail)
        spare = max(0, room - len(_marker(self.length)))
        if head + tail > spare:
            head, tail = _scale_down(head, tail, spare)
        marker = _marker(self.length - head - tail)
        return self.start[:head] + marker + self.end[len(self.end) - tail :]


def _marker(left_out: int) -> str:
    return f"\n[… {left_out} characters left out …]\n"


def _scale_down(head: int, tail: int, room: int) -> tuple[int, int]:
    smaller = tail * room // (head + tail)
    return room - smaller, smaller


def decode_text(data: bytes) -> str:
    """Return the text of a whole file, stripped and with ``\\n`` as line ending.

    Bytes that do not fit the encoding become U+FFFD.

    Raises:
        NotText: the file contains NUL characters, so it is binary.
    """
    encoding, mark = next(
        ((name, mark) for mark, name in BYTE_ORDER_MARKS if data.startswith(mark)), ("utf-8", b"")
    )
    text = data[len(mark) :].decode(encoding, "replace")
    if "\0" in text:
        raise NotText
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()
