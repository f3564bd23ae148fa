"""Texts within a text: base64, hexadecimal, rot13, reversed lines.

Percent-encoding, entities and escapes are resolved by ``folding``.
"""

from __future__ import annotations

import base64
import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from .data import expression
from .words import vocabulary

LONGEST = 200_000
"""Characters of the longest payload that is decoded."""


@dataclass(frozen=True, slots=True)
class Payload:
    """A text that was hidden at ``start`` of another one, and how."""

    start: int
    text: str
    how: str


def _from_base64(text: str) -> bytes:
    packed = re.sub(r"\s|=", "", text).replace("-", "+").replace("_", "/")
    packed = packed[: len(packed) - (len(packed) % 4 == 1)]
    return base64.b64decode(packed + "=" * (-len(packed) % 4))


def _from_hex(text: str) -> bytes:
    digits = re.sub(r"0x|[^0-9a-fA-F]", "", text)
    return bytes.fromhex(digits[: len(digits) & ~1])


_DECODERS = {"base64": _from_base64, "hexadecimal": _from_hex}
_TURNED = {
    "reversed text": lambda line: line[::-1],
    "rot13": lambda line: codecs.encode(line, "rot13"),
}


def payloads(text: str) -> Iterator[Payload]:
    """What can be decoded to text that a person could read."""
    for how, decode in _DECODERS.items():
        for found in expression(how).finditer(text):
            if (plain := _readable(decode(found[0][:LONGEST]))) is not None:
                yield Payload(found.start(), plain, how)
    words = set(re.findall(r"[a-z]{4,16}", text.lower()))
    for how, turn in _TURNED.items():
        if len(words & _telling(how)) > 1:
            yield Payload(0, "\n".join(map(turn, text.split("\n"))), how)


@cache
def _telling(how: str) -> frozenset[str]:
    """Words of attacks as they look when they are turned."""
    words = (word for word in vocabulary().words if word.isascii() and len(word) > 5)
    return frozenset(map(_TURNED[how], words)) - vocabulary().words


def _readable(data: bytes) -> str | None:
    """The bytes as text, if nearly all of it is letters, digits, blanks and punctuation."""
    if data[1::2].count(0) > len(data) // 3:
        data = data[: len(data) & ~1].decode("utf-16-le", "ignore").encode()
    text = data.decode("utf-8", "ignore")
    shown = sum(char.isprintable() or char in "\n\r\t" for char in text)
    letters = sum(char.isalnum() or char.isspace() for char in text)
    lost = len(data) - len(text.encode())
    readable = shown >= 0.97 * len(text) and letters >= 0.6 * len(text) and lost < 4
    return text if len(text) >= 6 and readable else None
