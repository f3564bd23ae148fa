"""Which origins are from outside for whom a turn works, and who is trusted all the same."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from urllib.parse import urlsplit

from hookline_hookspecs import Origin


def host_of(text: str) -> str:
    """The host of a URL, in lower case; empty if it has none."""
    try:
        return (urlsplit(text).hostname or "").casefold().rstrip(".")
    except ValueError:
        return ""


def is_trusted(origin: Origin, trusted: Collection[str]) -> bool:
    """True if an origin's source, its host, or a host above that one is among ``trusted``."""
    if not trusted:
        return False
    host = host_of(origin.source)
    above = [host[start:] for start in _starts(host)] if host else []
    return any(name in trusted for name in (origin.source.casefold(), *above))


def _starts(host: str) -> list[int]:
    return [0, *[found.end() for found in re.finditer(r"\.", host)]]


def charge(origins: Iterable[Origin], person: str) -> Collection[str]:
    """The sources of the people whom a turn works for.

    ``person``, such as ``telegram:222``; where that is empty, as in a review, the only person who
    has written anything. Several are strangers to each other.
    """
    if person:
        return {person}
    people = {origin.source for origin in origins if origin.kind == "person"}
    return people if len(people) == 1 else set()


def outside(
    origins: Iterable[Origin], people: Collection[str], trusted: Collection[str]
) -> Sequence[Origin]:
    """The origins that nobody in charge stands behind: all from outside, and of other people."""
    return [
        origin
        for origin in origins
        if (origin.kind == "outside" or (origin.kind == "person" and origin.source not in people))
        and not is_trusted(origin, trusted)
    ]
