"""Links: an address that stands word for word in what was read carries nothing out."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import unquote, urljoin, urlsplit

from .known_values import KnownValues, Text
from .values import host_part, plain_url

_BETWEEN = re.compile(r"[\s<>\"'`()\[\]{}|]+")
_EMBEDDED = re.compile(r"//([^\s/?#\\]+)")
_TAIL = ".,;:!?*_"
"""Marks at the end of a word that are no part of an address."""


def was_read(known: KnownValues, url: str) -> bool:
    """True if a text from outside held the address, in full or as a link of its page."""
    plain = plain_url(url)
    return bool(host_part(plain)) and any(
        _holds(plain, read)
        for read in known.links_in()
        if all(plain != value.text for value in read.asked)
    )


def embedded_hosts(url: str) -> set[str]:
    """Hosts that stand in the path or the query of a URL, to which it may lead on."""
    try:
        parts = urlsplit(url if "://" in url else f"//{url}")
    except ValueError:
        return set()
    rest = unquote(unquote(f"{parts.path}?{parts.query}"))
    return {host_part(plain_url(name)) for name in _EMBEDDED.findall(rest)} - {""}


def _holds(plain: str, read: Text) -> bool:
    last = plain.rpartition("/")[2]
    words = {
        word.rstrip(_TAIL).rstrip("/")
        for part in _BETWEEN.split(read.text)
        if last in part
        for word in (part, part.partition("#")[0])
    }
    if any(plain_url(word) == plain for word in words if word):
        return True
    return any(_joined(base, word) == plain for base in _bases(read) for word in words)


def _bases(read: Text) -> Iterable[str]:
    return [one for one in read.where.split(", ") if "://" in one]


def _joined(base: str, word: str) -> str:
    try:
        return plain_url(urljoin(base, word))
    except ValueError:
        return ""
