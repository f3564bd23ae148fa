"""A text as its words are compared: one spelling of what can be written in many ways.

Line breaks stay where they are, so that a line of the result is a line of the original.
"""

from __future__ import annotations

import html
import re
import unicodedata
from functools import cache
from importlib.resources import files
from urllib.parse import unquote

import yaml

from .characters import INVISIBLE

_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]{2,32});?")
_ESCAPE = re.compile(
    r"\\(?:(?:u|u\{0{0,4}|U000)([0-9a-fA-F]{4,5}(?=\})|(?<=U000)[0-9a-fA-F]{5}|[0-9a-fA-F]{4})\}?"
    r"|x([0-9a-fA-F]{2})|([0-3][0-7]{2}))"
)
_PERCENT = re.compile(r"(?:%[0-9a-fA-F]{2}[\w+.,-]{0,40}){2,}")
# Marks of Markdown and HTML within a word: ig**no**re, ig<b>no</b>re, ig<!-- -->nore.
_WITHIN = re.compile(
    r"(?<=[^\W\d_])(?:\*{1,3}|~~|`|\\(?=[a-z]{2}\b)|<!--[^<>\n]{0,80}-->|</?[a-zA-Z][^<>\n]{0,60}>|\\(?=[*_`~]))+(?=[^\W\d_])"
)
# Marks outside of the Latin letters' own: vowel points of Arabic and Hebrew, the lengthener.
_POINTS = re.compile("[\u064b-\u065f\u0670\u0640\u0591-\u05bd\u05bf-\u05c7]")
_ALIKE = str.maketrans(
    {"أ": "ا", "إ": "ا", "آ": "ا", "ى": "ي", "ی": "ي", "ک": "ك", "ة": "ه", "़": ""}
)


def fold(text: str) -> str:
    """NFKC, without what is invisible, accents or capitals, entities and escapes resolved.

    Camel case is taken apart before.
    """
    if "&" in text:
        text = _ENTITY.sub(lambda found: _on_one_line(html.unescape(found[0])), text)
    if "\\" in text:
        text = _ESCAPE.sub(_unescaped, text)
    if "%" in text:
        text = _PERCENT.sub(_unquoted, text)
    if not text.isascii():
        text = INVISIBLE.sub("", unicodedata.normalize("NFKC", text))
        text = _POINTS.sub("", text).translate(_ALIKE)
        text = text.translate({ord(c): _bare(c) for c in set(text) if ord(c) > 127})
    text = _JOINED.sub(" ", _WITHIN.sub("", text))
    text = _HUMP.sub(" ", text)
    return text.casefold()


_JOINED = re.compile(r"(?<=[^\W_])_{1,2}(?=[^\W_])")
_HUMP = re.compile(r"(?<=[a-z]{2})(?=[A-Z][a-z]{2})")


def _on_one_line(text: str) -> str:
    return re.sub(r"[\r\n\x0b\x0c\x1c-\x1e\x85\u2028\u2029]", " ", text)


def _unescaped(found: re.Match[str]) -> str:
    digits = found[1] or found[2]
    number = int(digits, 16) if digits else int(found[3], 8)
    valid = 31 < number < 0x110000 and not 0xD800 <= number < 0xE000
    return _on_one_line(chr(number)) if valid else " "


def _unquoted(found: re.Match[str]) -> str:
    return _on_one_line(unquote(found[0].replace("+", " "), errors="replace"))


def _bare(char: str) -> str:
    """A letter without its accents, in the alphabets where they do not make another letter."""
    if "\u0300" <= char <= "\u036f" or "\u1ab0" <= char <= "\u1aff":
        return ""
    name = ord(char)
    if 0x80 <= name <= 0x52F or 0x1E00 <= name <= 0x1FFF:
        plain = unicodedata.normalize("NFD", char)[0]
        return _LETTERS.get(plain, plain)
    if 0x1F150 <= name <= 0x1F169 or 0x1F170 <= name <= 0x1F189:
        return chr((name - 0x1F150) % 32 + 97)
    if 0x1F1E6 <= name <= 0x1F1FF:
        return chr(name - 0x1F1E6 + 97)
    return _on_one_line(char)


_LETTERS = {
    "ø": "o",
    "Ø": "o",
    "ł": "l",
    "Ł": "l",
    "đ": "d",
    "Đ": "d",
    "ß": "ss",
    "æ": "ae",
    "œ": "oe",
}


@cache
def _skeletons() -> dict[int, str]:
    data = yaml.safe_load((files(__package__) / "lookalikes.yaml").read_text("utf-8"))
    return {ord(char): letter for letter, chars in data["letters"].items() for char in chars}


def skeleton(word: str) -> str:
    """A word with Latin letters in the place of those that look like them."""
    return word.translate(_skeletons())


_LEET = str.maketrans("013457@$€8926|+", "oleastaseboztlt")
_LEET_I = str.maketrans("1!|", "iii")


def unleet(word: str) -> tuple[str, ...]:
    """A word with letters in the place of digits and signs, for ``1`` and ``!`` as i and as l."""
    if word.isalpha() or word.isdigit():
        return ()
    return (word.translate(_LEET_I).translate(_LEET), word.translate(_LEET))
