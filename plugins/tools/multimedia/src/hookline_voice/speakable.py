"""An answer as it is read aloud: no Markdown, no code, not too long, in pieces a service takes.

:func:`speakable` strips, :func:`shorten` and :func:`pieces` cut where a sentence ends.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from markdown_it.token import Token

LONGEST = 50_000
"""Characters of an answer that are looked at."""

_URL = re.compile(r"(?:https?://|www\.)[^\s<>()\[\]]+", re.IGNORECASE)
_SPACE = re.compile(r"\s+")
_STRAY = re.compile(r"(?:^| )[\u200c\u200d]+| (?=[.,;:!?](?: |$))")
"""Joiners without a letter, and a space before punctuation: where a symbol was taken out."""
_SENTENCE_END = re.compile(r"[.!?…。！？]+[\"'”’»)\]]*(?=\s)|[。！？]|\n")
_BLOCK_ENDS = ("paragraph_close", "heading_close", "tr_close")
_CLOSED = tuple(".!?…:;,。！？：；")
_FIRST_SYMBOL = 0x2190
"""Symbols from the arrows on are pictures; those below, such as °, are words."""


def speakable(markdown: str) -> str:
    """The words of an answer in Markdown, one block a line; code is left out.

    Of links their text stays, of bare addresses their host, of pictures what is said of them.
    """
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    lines: list[str] = []
    words: list[str] = []
    for token in parser.parse(markdown[:LONGEST]):
        if token.type == "inline":
            words.append("".join(_inline(token.children or ())))
        elif token.type in _BLOCK_ENDS and words:
            lines.append(_closed(", ".join(filter(None, map(_plain, words)))))
            words = []
    return "\n".join(filter(None, lines))


def _inline(tokens: Sequence[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type in ("text", "code_inline"):
            yield token.content
        elif token.type in ("softbreak", "hardbreak"):
            yield " "
        elif token.type == "image":
            yield from _inline(token.children or ())


def _plain(text: str) -> str:
    """``text`` without addresses and symbols that nobody says, in one line."""
    text = _URL.sub(lambda found: _host(found[0]), text).replace("```", "")
    text = _SPACE.sub(" ", "".join(filter(_is_said, text))).strip()
    return _STRAY.sub("", text).strip()


def _host(url: str) -> str:
    """The host of an address, and the punctuation after it."""
    kept = url.rstrip(".,;:!?'\"*_")
    try:
        host = urlsplit(kept if "//" in kept else f"//{kept}").hostname or ""
    except ValueError:
        host = ""
    return host.removeprefix("www.") + url[len(kept) :]


def _is_said(letter: str) -> bool:
    kind, code = unicodedata.category(letter), ord(letter)
    if kind in ("So", "Sk"):
        return code < _FIRST_SYMBOL
    if kind == "Me" or 0xFE00 <= code <= 0xFE0F:  # what gives pictures their look
        return False
    if kind in ("Cc", "Cf"):
        return letter in "\t\n\r\u200c\u200d"
    return kind not in ("Cs", "Co", "Cn")


def _closed(line: str) -> str:
    """A line that ends as a sentence does, so that there is a pause after it."""
    return line if not line or line.endswith(_CLOSED) else line + "."


def shorten(text: str, longest: int, rest: str) -> str:
    """``text``, or as many whole sentences as fit into ``longest`` together with ``rest``."""
    if len(text) <= longest:
        return text
    rest = rest.strip()
    room = longest - len(rest) - 1
    if room < longest // 2:  # a farewell that long is left out
        return text[: _cut(text, longest)].strip()
    return f"{text[: _cut(text, room)].strip()} {rest}".strip()


def pieces(text: str, longest: int) -> list[str]:
    """``text`` in parts of at most ``longest`` characters, none empty; white space between two
    parts is left out."""
    parts = []
    text = text.strip()
    while text:
        at = len(text) if len(text) <= longest else _cut(text, longest)
        parts.append(text[:at].strip())
        text = text[at:].strip()
    return parts


def _cut(text: str, longest: int) -> int:
    """Where to cut a text that is longer than ``longest``: after a sentence, else a word."""
    ends = [found.end() for found in _SENTENCE_END.finditer(text, 0, longest + 1)]
    ends = [end for end in ends if longest // 4 < end <= longest]
    if ends:
        return ends[-1]
    space = text.rfind(" ", 1, longest + 1)
    return space if space > 0 else longest
