"""The text of an answer as it is read aloud: without Markdown and code, cut between sentences."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from markdown_it.token import Token

MAX_MARKDOWN_CHARS = 50_000
"""Characters of an answer that are read."""

_URL = re.compile(r"(?:https?://|www\.)[^\s<>()\[\]]+", re.IGNORECASE)
_SPACE = re.compile(r"\s+")
_STRAY_SPACE = re.compile(r"(?:^| )[\u200c\u200d]+| (?=[.,;:!?](?: |$))")
"""What a removed symbol leaves: joiners without a letter, and a space before punctuation."""
_SENTENCE_END = re.compile(r"[.!?…。！？]+[\"'”’»)\]]*(?=\s)|[。！？]|\n")
_BLOCK_ENDS = ("paragraph_close", "heading_close", "tr_close")
_SENTENCE_MARKS = tuple(".!?…:;,。！？：；")
_FIRST_SYMBOL = 0x2190
"""Symbols from the arrows on are skipped; those below, such as °, are spoken."""


def spoken_text(markdown: str) -> str:
    """The words of an answer in Markdown, one line for each block; code is left out.

    Links become their text, bare URLs their host, and pictures their description.
    """
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    lines: list[str] = []
    words: list[str] = []
    for token in parser.parse(markdown[:MAX_MARKDOWN_CHARS]):
        if token.type == "inline":
            words.append("".join(_inline(token.children or ())))
        elif token.type in _BLOCK_ENDS and words:
            lines.append(_end_sentence(", ".join(filter(None, map(_plain, words)))))
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
    """``text`` in one line, without URLs and symbols."""
    text = _URL.sub(lambda found: _host(found[0]), text).replace("```", "")
    text = _SPACE.sub(" ", "".join(filter(_is_spoken, text))).strip()
    return _STRAY_SPACE.sub("", text).strip()


def _host(url: str) -> str:
    """The host of a URL, and the punctuation after it."""
    address = url.rstrip(".,;:!?'\"*_")
    try:
        host = urlsplit(address if "//" in address else f"//{address}").hostname or ""
    except ValueError:
        host = ""
    return host.removeprefix("www.") + url[len(address) :]


def _is_spoken(letter: str) -> bool:
    kind, code = unicodedata.category(letter), ord(letter)
    if kind in ("So", "Sk"):
        return code < _FIRST_SYMBOL
    if kind == "Me" or 0xFE00 <= code <= 0xFE0F:  # enclosing marks and variation selectors
        return False
    if kind in ("Cc", "Cf"):
        return letter in "\t\n\r\u200c\u200d"
    return kind not in ("Cs", "Co", "Cn")


def _end_sentence(line: str) -> str:
    """The line with a full stop if it has no punctuation at its end, so that a pause follows."""
    return line if not line or line.endswith(_SENTENCE_MARKS) else line + "."


def shorten(text: str, max_chars: int, rest: str) -> str:
    """``text``, or as many whole sentences as fit into ``max_chars`` together with ``rest``."""
    if len(text) <= max_chars:
        return text
    rest = rest.strip()
    space = max_chars - len(rest) - 1
    if space < max_chars // 2:  # too long: leave it out
        return text[: _cut(text, max_chars)].strip()
    return f"{text[: _cut(text, space)].strip()} {rest}".strip()


def split(text: str, max_chars: int) -> list[str]:
    """``text`` in parts of at most ``max_chars`` characters, none empty, without the whitespace
    between them."""
    parts = []
    text = text.strip()
    while text:
        at = len(text) if len(text) <= max_chars else _cut(text, max_chars)
        parts.append(text[:at].strip())
        text = text[at:].strip()
    return parts


def _cut(text: str, max_chars: int) -> int:
    """Where to cut a text that is longer than ``max_chars``: after a sentence, else a word."""
    ends = [found.end() for found in _SENTENCE_END.finditer(text, 0, max_chars + 1)]
    ends = [end for end in ends if max_chars // 4 < end <= max_chars]
    if ends:
        return ends[-1]
    last_space = text.rfind(" ", 1, max_chars + 1)
    return last_space if last_space > 0 else max_chars
