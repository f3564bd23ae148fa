"""The encoding of a text that is not Unicode, guessed from the letters that it would have.

Each language's usual encodings are tried. The text's likelihood is the product of the letters'
frequencies, so the right encoding is the one that gives frequent letters. The library
charset-normalizer decides where no language fits; it alone misreads texts of a few words.
"""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise

MAX_HEAD_BYTES = 65_536
"""Bytes that are tried in each encoding."""
MAX_SAMPLE_BYTES = 6_000
"""Bytes of the lines beyond ASCII that are judged."""
CERTAIN_MARGIN = 3.0
"""Difference of log-likelihoods above which the second guess is ruled out: 20 to 1."""
WESTERN_BONUS = 3.0
"""Added for Windows-1252, by far the most frequent of these encodings in single words."""
MIN_MEAN_LIKELIHOOD = -7.2
"""Mean log-likelihood of a byte beyond ASCII below which no known language fits; wrong decodings
have less."""
MIN_LIBRARY_BYTES = 64
"""Bytes beyond ASCII from which charset-normalizer is asked; of fewer it makes nonsense."""

_ASCII = -3.0
_COMMON_SHARE = 0.8
_KNOWN_SHARE = 0.15
_KNOWN_CHARS = 3_000
_FOREIGN_LETTER = -9.5
_RARE_CHARACTER = -13.0
_CAPITAL_IN_WORD = -4.0
_MIXED_SCRIPTS = -5.0


@dataclass(frozen=True, slots=True)
class LegacyEncoding:
    """A codec; ``certain`` is False if the bytes may as well be text in another one."""

    codec: str
    certain: bool


@dataclass(frozen=True, slots=True)
class _Language:
    codecs: tuple[str, ...]
    frequency: dict[str, float]
    known: tuple[str, int, int] | None
    latin: bool

    @property
    def alphabetic(self) -> bool:
        return self.known is None


def legacy_encoding(body: bytes, *, cut: bool = False) -> LegacyEncoding:
    """The encoding of ``body``, which is text but not UTF-8.

    ``cut``: the end may be in the middle of a character.
    """
    head = body[:MAX_HEAD_BYTES]
    if cut or len(head) < len(body):
        head = head[: head.rfind(b"\n") + 1] or head[:-1]
    sample = _sample(head)
    guesses = sorted(_guesses(head, sample), key=lambda guess: -guess[0])
    if not cut and len(head) < len(body):
        while guesses and not _holds(body, guesses[0][1]):
            guesses = [guess for guess in guesses if guess[1] != guesses[0][1]]
    if not guesses:
        return LegacyEncoding(_single_byte_codec(body), certain=False)
    best, codec = guesses[0]
    text = sample.decode(codec, "replace")
    others = [score for score, other in guesses if sample.decode(other, "replace") != text]
    beyond = max(1, sum(byte >= 0x80 for byte in sample))
    ascii_part = _ASCII * sum(byte < 0x80 for byte in sample)
    likely = (best - ascii_part) / beyond >= MIN_MEAN_LIKELIHOOD
    if likely and (not others or best - others[0] >= CERTAIN_MARGIN):
        return LegacyEncoding(codec, certain=True)
    if not likely:
        library = _library_guess(head) if beyond >= MIN_LIBRARY_BYTES else None
        codec = library if library and _holds(body, library) else _single_byte_codec(body)
    return LegacyEncoding(codec, certain=False)


def _sample(body: bytes) -> bytes:
    """Whole lines of ``body`` that are not ASCII, as many as are judged."""
    lines: list[bytes] = []
    size = 0
    for line in body.splitlines():
        if not line.isascii():
            lines.append(line[: MAX_SAMPLE_BYTES - size])
            size += len(lines[-1])
        if size >= MAX_SAMPLE_BYTES:
            break
    return b"\n".join(lines)


def _guesses(body: bytes, sample: bytes) -> list[tuple[float, str]]:
    """Log-likelihood and codec for each language and encoding that can hold ``body``."""
    usable = {
        codec for language in _languages() for codec in language.codecs if _holds(body, codec)
    }
    guesses = []
    for language in _languages():
        for codec in language.codecs:
            if codec in usable:
                text = sample.decode(codec, "ignore")
                bonus = WESTERN_BONUS if codec == "cp1252" else 0.0
                guesses.append((_likelihood(text, language) + bonus, codec))
                if not language.alphabetic and codec != "cp932":
                    break
    return guesses


def _holds(body: bytes, codec: str) -> bool:
    """Whether ``body`` is valid in ``codec`` and comes out of it unchanged."""
    try:
        return body.decode(codec).encode(codec) == body
    except UnicodeError:
        return False


def _likelihood(text: str, language: _Language) -> float:
    total = sum(_character(char, language) for char in text)
    if not language.alphabetic:
        return total
    for left, right in pairwise(text):
        if left.islower() and right.isupper():
            total += _CAPITAL_IN_WORD
        if not language.latin and left.isalpha() and right.isalpha():
            total += _MIXED_SCRIPTS * (left.isascii() != right.isascii())
    return total


def _character(char: str, language: _Language) -> float:
    if char.isascii():
        return _ASCII
    if (found := language.frequency.get(char)) is not None:
        return found
    if language.known is not None and _is_known(char, *language.known):
        return math.log(_KNOWN_SHARE / _KNOWN_CHARS)
    if language.alphabetic and char.isprintable():
        return _FOREIGN_LETTER
    return _RARE_CHARACTER


@cache
def _is_known(char: str, codec: str, first: int, last: int) -> bool:
    try:
        return first <= char.encode(codec)[0] <= last
    except UnicodeEncodeError:
        return False


@cache
def _languages() -> tuple[_Language, ...]:
    data = tomllib.loads(files(__package__).joinpath("data/languages.toml").read_text("utf-8"))
    return tuple(_language(entry) for entry in data.values())


def _language(entry: dict[str, list[str]]) -> _Language:
    chars = list(dict.fromkeys(entry["common"]))
    latin = any("LATIN" in _name(char) for char in chars[:3])
    # In Latin script most letters are ASCII, so each of the others is rarer.
    share = 0.15 if latin else _COMMON_SHARE
    weights = {char: 1 / (rank + 5) for rank, char in enumerate(chars)}
    whole = sum(weights.values())
    frequency = {char: math.log(share * weight / whole) for char, weight in weights.items()}
    known = tuple(entry["known"]) if "known" in entry else None
    return _Language(tuple(entry["codecs"]), frequency, known, latin)  # type: ignore[arg-type]


def _name(char: str) -> str:
    import unicodedata

    return unicodedata.name(char, "")


def _library_guess(body: bytes) -> str | None:
    from charset_normalizer import from_bytes

    codecs_known = sorted({codec for language in _languages() for codec in language.codecs})
    best = from_bytes(body[:MAX_SAMPLE_BYTES], cp_isolation=codecs_known).best()
    return None if best is None else best.encoding


def _single_byte_codec(body: bytes) -> str:
    return "cp1252" if _holds(body, "cp1252") else "latin-1"
