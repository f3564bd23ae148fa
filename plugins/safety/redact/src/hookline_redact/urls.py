"""Passwords in URLs, ``scheme://user:password@host``. The rest of the URL is kept."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .secret_references import is_reference
from .spans import Span
from .text_view import TextView

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}\Z")
_AUTHORITY = re.compile(r"[^\s\"'<>`\\|]{1,600}")
_RANDOM_USER = re.compile(
    r"(?=[A-Za-z0-9_-]{0,80}[0-9])(?=[A-Za-z0-9_-]{0,80}[A-Za-z])[A-Za-z0-9_-]{16,80}\Z"
)


def find_url_passwords(view: TextView) -> Iterator[Span]:
    """Find the password of each URL, or a long random user name that serves as one."""
    text = view.text
    at = text.find("://")
    while at >= 0:
        end = at + 3
        found = _AUTHORITY.match(text, end)
        if found is not None and _SCHEME.search(text, max(0, at - 31), at):
            span = _password_range(found[0], end)
            if span is not None and not is_reference(text[span[0] : span[1]]):
                yield Span(*span, "url_password")
        at = text.find("://", end)


def _password_range(rest: str, offset: int) -> tuple[int, int] | None:
    """Start and end of the password in ``user:password@host/…``, each plus ``offset``."""
    cut = min((i for mark in "/?#" if (i := rest.find(mark)) >= 0), default=len(rest))
    close = rest.rfind("@", 0, cut)
    colon = rest.find(":")
    if close < 0:
        close = _find_late_at(rest, colon, cut)
    if close < 0:
        return None
    if 0 <= colon < close and not rest.startswith("["):
        return (offset + colon + 1, offset + close) if close > colon + 1 else None
    if colon < 0 or colon > close:
        return (offset, offset + close) if _RANDOM_USER.match(rest[:close]) else None
    return None


def _find_late_at(rest: str, colon: int, cut: int) -> int:
    """Index of the ``@`` behind a password with unencoded ``/ ? #``; -1 if a port precedes them."""
    if not 0 <= colon < cut or rest[colon + 1 : cut].isdigit() or cut == colon + 1:
        return -1
    after = rest.find("@", cut, colon + 120)
    return after if after >= 0 and any(sign in rest[after:] for sign in ".:") else -1
