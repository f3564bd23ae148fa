"""JSON Web Tokens: signed (three parts), unsecured and encrypted (five parts)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .spans import Span
from .text_view import TextView

# RFC 7515 §3 and RFC 7516 §3: base64url of a JSON object. It begins with {", or with a space
# or line break after the brace.
_STARTS = ("eyJ", "eyAi", "ewog", "ewoi", "ew0K")
_TOKEN = re.compile(
    r"[A-Za-z0-9_-]{10,4000}\.[A-Za-z0-9_-]{0,20000}\.[A-Za-z0-9_-]{0,4000}"
    r"(?:\.[A-Za-z0-9_-]{0,20000}\.[A-Za-z0-9_-]{0,200})?"
)
_PAYLOAD = re.compile(r"[A-Za-z0-9_-]{10,4000}\.eyJ[A-Za-z0-9_-]{6,20000}")


def find_jwts(view: TextView) -> Iterator[Span]:
    """Find the tokens, including those without their signature."""
    text = view.text
    for start in _STARTS:
        at = text.find(start)
        while at >= 0:
            end = at + 1
            if at == 0 or not (text[at - 1].isalnum() and text[at - 1].isascii()):
                found = _TOKEN.match(text, at) or _PAYLOAD.match(text, at)
                if found is not None and len(found[0]) > 24:
                    end = at + len(found[0].rstrip("-_")) if found[0][-1] in "-_" else found.end()
                    yield Span(at, end, "jwt")
            at = text.find(start, end)
