"""Texts hidden in a text: base64, hexadecimal, rot13, reversed lines.

:func:`.normalization.fold` resolves percent-encoding, entities and escapes.
"""

from __future__ import annotations

import base64
import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from .data_files import expression
from .vocabulary import vocabulary

MAX_PAYLOAD_CHARS = 200_000
"""Characters of a payload that are decoded."""


@dataclass(frozen=True, slots=True)
class HiddenPayload:
    """A text hidden at ``start`` of another one; ``encoding`` is how, such as ``base64``."""

    start: int
    text: str
    encoding: str


def _from_base64(text: str) -> bytes:
    packed = re.sub(r"\s|=", "", text).replace("-", "+").replace("_", "/")
    packed = packed[: len(packed) - (len(packed) % 4 == 1)]
    return base64.b64decode(packed + "=" * (-len(packed) % 4))


def _from_hex(text: str) -> bytes:
    digits = re.sub(r"0x|[^0-9a-fA-F]", "", text)
    return bytes.fromhex(digits[: len(digits) & ~1])


_DECODERS = {"base64": _from_base64, "hexadecimal": _from_hex}
_LINE_ENCODINGS = {
    "reversed text": lambda line: line[::-1],
    "rot13": lambda line: codecs.encode(line, "rot13"),
}


def decode_payloads(text: str) -> Iterator[HiddenPayload]:
    """Decode the parts that give readable text."""
    for encoding, decode in _DECODERS.items():
        for found in expression(encoding).finditer(text):
            if (plain := _readable(decode(found[0][:MAX_PAYLOAD_CHARS]))) is not None:
                yield HiddenPayload(found.start(), plain, encoding)
    words = set(re.findall(r"[a-z]{4,16}", text.lower()))
    for encoding, encode in _LINE_ENCODINGS.items():
        if len(words & _encoded_words(encoding)) > 1:
            yield HiddenPayload(0, "\n".join(map(encode, text.split("\n"))), encoding)


@cache
def _encoded_words(encoding: str) -> frozenset[str]:
    """The words of attacks in an encoding that keeps lines."""
    words = (word for word in vocabulary().words if word.isascii() and len(word) > 5)
    return frozenset(map(_LINE_ENCODINGS[encoding], words)) - vocabulary().words


def _readable(data: bytes) -> str | None:
    """The bytes as text, if nearly all of it is letters, digits, spaces and punctuation."""
    if data[1::2].count(0) > len(data) // 3:
        data = data[: len(data) & ~1].decode("utf-16-le", "ignore").encode()
    text = data.decode("utf-8", "ignore")
    printable = sum(char.isprintable() or char in "\n\r\t" for char in text)
    letters = sum(char.isalnum() or char.isspace() for char in text)
    lost = len(data) - len(text.encode())
    readable = printable >= 0.97 * len(text) and letters >= 0.6 * len(text) and lost < 4
    return text if len(text) >= 6 and readable else None
