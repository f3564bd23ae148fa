"""Private keys: PEM, OpenSSH, PGP, SSH2 and PuTTY, with or without their end, escaped or quoted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest

from .spans import Span
from .text_view import TextView

MAX_KEY_CHARS = 40_000
"""Characters of the longest key that is found; a 16,384-bit RSA key has 13,000."""
_BEGIN = re.compile(r"-{4,5} ?BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_END = re.compile(r"-{4,5} ?END (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
# A truncated key: lines of base64 and headers, with escaped or real line breaks between them.
_REST = re.compile(
    r"(?:(?:\s|\\r|\\n|[>|+\"' ]){1,8}(?:[A-Za-z0-9+/=]{16,100}|[A-Za-z-]{2,30}: [^\n\\]{0,200}))"
    r"{1,500}(?:(?:\s|\\r|\\n){1,4}[A-Za-z0-9+/]{1,64}={0,2}(?![\w+/ ]))?"
)
_BASE64 = re.compile(r"[A-Za-z0-9+/=]{16,}")
_PUTTY = re.compile(r"(?:\s|\\r|\\n){1,4}(?:[A-Za-z0-9+/=]{4,100}(?:\s|\\r|\\n){0,4}){1,500}")


def find_private_keys(view: TextView) -> Iterator[Span]:
    """Find each key from its first dash to its last, or to the end of a truncated one."""
    text = view.text
    begins = list(_BEGIN.finditer(text)) if "PRIVATE KEY" in text else []
    ends = list(_END.finditer(text)) if begins else []
    done = number = 0
    for begin, following in zip_longest(begins, begins[1:]):
        if begin.start() < done:
            continue
        while number < len(ends) and ends[number].start() < begin.end():
            number += 1
        limit = min(begin.end() + MAX_KEY_CHARS, following.start() if following else len(text))
        close = ends[number] if number < len(ends) and ends[number].start() < limit else None
        rest = close or _REST.match(text, begin.end())
        # "-----BEGIN PRIVATE KEY-----" alone, as in a sentence, is not a key.
        if rest is not None and _has_body(text, begin.end(), rest.start(), rest.end()):
            yield Span(begin.start(), rest.end(), "private_key")
            done = rest.end()
    yield from _find_putty_keys(text)


def _has_body(text: str, begin: int, start: int, end: int) -> bool:
    """Whether a key follows: another line, or enough base64 on this one."""
    inner = text[begin:start] if start > begin else text[begin:end]
    if not any(char.isalnum() for char in inner.replace("\\n", "").replace("\\r", "")):
        return False
    return "\n" in inner or "\\n" in inner or _BASE64.search(inner) is not None


def _find_putty_keys(text: str) -> Iterator[Span]:
    at = text.find("Private-Lines:")
    while at >= 0:
        head = re.compile(r"Private-Lines: ?\d{1,4}").match(text, at)
        body = _PUTTY.match(text, head.end()) if head else None
        if body is not None:
            yield Span(at, len(body[0].rstrip()) + body.start(), "private_key")
        at = text.find("Private-Lines:", at + 1)
