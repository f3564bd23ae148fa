"""Texts within a text: base64, base32, hexadecimal, byte values, binary, shifted letters, reversed.

Percent-encoding, entities and escapes are resolved by ``folding``.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from .vocabulary import Lexicon

LONGEST = 200_000
"""Characters of the longest payload that is decoded."""
_BASE64 = re.compile(
    r"(?:[A-Za-z0-9+/_-]{4}|[A-Za-z0-9+/_-]{60,100}\r?\n(?=[A-Za-z0-9+/_-])){4,}[A-Za-z0-9+/_-]{0,80}={0,2}"
)
_BASE32 = re.compile(r"\b[A-Z2-7]{24,}={0,6}")
_HEX = re.compile(r"(?:(?:0x|\\x|%)?[0-9a-fA-F]{2}[ ,:;-]{0,2}){12,}")
_BYTES = re.compile(r"(?:\b(?:3[2-9]|[4-9]\d|1[01]\d|12[0-6])[ ,;]{1,3}){12,}\d{2,3}\b")
_BITS = re.compile(r"(?:[01]{8}[ ,]?){8,}")
_QUOTED_PRINTABLE = re.compile(r"(?:=[0-9A-F]{2}[\w ]?){6,}")
_KEYWORDS = (
    "ignore", "disregard", "forget", "previous", "instructions", "instruction", "system", "prompt",
    "reveal", "override", "password", "secret", "download", "execute", "without", "telling",
)  # fmt: skip
_WORD = re.compile(r"[a-z]{4,16}")


@dataclass(frozen=True, slots=True)
class Payload:
    """A text that was hidden at ``start`` of another one, and how."""

    start: int
    text: str
    how: str


def payloads(text: str, lexicon: Lexicon) -> Iterator[Payload]:
    """What can be decoded to text that a person could read."""
    for pattern, decode, how in (
        (_BASE64, _from_base64, "base64"),
        (_BASE32, _from_base32, "base32"),
        (_HEX, _from_hex, "hexadecimal"),
        (_BYTES, _from_bytes, "byte values"),
        (_BITS, _from_bits, "binary"),
        (_QUOTED_PRINTABLE, _from_quoted_printable, "quoted-printable"),
    ):
        for found in pattern.finditer(text):
            plain = decode(found[0][:LONGEST])
            if plain is not None:
                yield Payload(found.start(), plain, how)
    yield from _shifted(text, lexicon)


def _readable(data: bytes) -> str | None:
    """The bytes as text, if nearly all of it is letters, digits, blanks and punctuation."""
    if data[1::2].count(0) > len(data) // 3:
        data = data[: len(data) & ~1].decode("utf-16-le", "ignore").encode()
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < 8 or error.start < len(data) - 4:
            return None
        text = data[: error.start].decode("utf-8")
    shown = sum(char.isprintable() or char in "\n\r\t" for char in text)
    letters = sum(char.isalnum() or char.isspace() for char in text)
    if len(text) < 6 or shown < 0.97 * len(text) or letters < 0.6 * len(text):
        return None
    return text


def _from_base64(text: str) -> str | None:
    packed = re.sub(r"\s", "", text).rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return _readable(base64.b64decode(packed[: len(packed) & ~3] + _rest(packed)))
    except (binascii.Error, ValueError):
        return None


def _rest(packed: str) -> str:
    """The last group with its padding; a single character is no group."""
    last = packed[len(packed) & ~3 :]
    return last + "=" * (4 - len(last)) if len(last) > 1 else ""


def _from_base32(text: str) -> str | None:
    packed = text.rstrip("=")
    try:
        return _readable(base64.b32decode(packed + "=" * (-len(packed) % 8)))
    except (binascii.Error, ValueError):
        return None


def _from_hex(text: str) -> str | None:
    digits = re.sub(r"0x|\\x|[^0-9a-fA-F]", "", text)
    return _readable(bytes.fromhex(digits[: len(digits) & ~1]))


def _from_bytes(text: str) -> str | None:
    return _readable(bytes(int(one) % 256 for one in re.findall(r"\d+", text)))


def _from_bits(text: str) -> str | None:
    bits = re.sub(r"[^01]", "", text)
    return _readable(bytes(int(bits[at : at + 8], 2) for at in range(0, len(bits) & ~7, 8)))


def _from_quoted_printable(text: str) -> str | None:
    return _readable(binascii.a2b_qp(text.encode("ascii", "ignore")))


_LETTERS = "abcdefghijklmnopqrstuvwxyz"


@cache
def _disguises() -> dict[str, tuple[str, str]]:
    """Keywords with shifted letters: how, and the alphabet that was used."""
    found = {}
    for number in range(1, 26):
        alphabet = _LETTERS[number:] + _LETTERS[:number]
        for word in _KEYWORDS:
            hidden = word.translate(str.maketrans(_LETTERS, alphabet))
            found[hidden] = (f"letters shifted by {number}", alphabet)
    return found


def _shifted(text: str, lexicon: Lexicon) -> Iterator[Payload]:
    """The whole text, if words of it are known ones in disguise."""
    lower = text.lower()
    words = set(_WORD.findall(lower))
    unknown = [word for word in words if not lexicon.knows(word)]
    rot13 = _LETTERS[13:] + _LETTERS[:13]
    for how, alphabet in (("rot13", rot13), ("mirrored letters", _LETTERS[::-1])):
        table = str.maketrans(alphabet, _LETTERS)
        if _known(lexicon, (word.translate(table) for word in unknown)):
            yield Payload(0, lower.translate(table), how)
    if _known(lexicon, (word[::-1] for word in unknown)):
        yield Payload(0, "\n".join(line[::-1] for line in text.split("\n")), "reversed text")
    hits: dict[tuple[str, str], int] = {}
    for word in words & _disguises().keys():
        hits[_disguises()[word]] = hits.get(_disguises()[word], 0) + 1
    for (how, alphabet), count in hits.items():
        if count >= 2 and alphabet != rot13:
            yield Payload(0, lower.translate(str.maketrans(alphabet, _LETTERS)), how)


def _known(lexicon: Lexicon, words: Iterable[str]) -> bool:
    """True if words of the lexicon, of eight letters together, are among them."""
    return sum(len(word) for word in words if lexicon.knows(word)) >= 8
