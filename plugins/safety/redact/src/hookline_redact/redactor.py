"""``Redactor``: a text in, the same text with placeholders out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TypeAlias

from .assignments import find_assignments
from .cards import find_cards
from .emails import find_emails
from .headers import find_headers
from .jwts import find_jwts
from .phones import PhoneFinder
from .private_keys import find_private_keys
from .shapes import find_keys
from .spans import KINDS, Kind, Span, around_placeholders, merged
from .ssns import find_ssns
from .urls import find_url_passwords
from .view import View

Finder: TypeAlias = Callable[[View], Iterable[Span]]
PASSES = 8
"""Looks at one text. A second look finds what only the first one has set free; more are rare."""


class Redactor:
    """Finds secrets of some ``kinds``; national phone numbers are those of ``region``."""

    def __init__(self, region: str = "US", kinds: Collection[Kind] = KINDS) -> None:
        self._kinds = frozenset(kinds)
        self._finders: tuple[Finder, ...] = (
            find_private_keys,
            find_jwts,
            find_keys,
            find_url_passwords,
            find_headers,
            find_assignments,
            find_emails,
            find_cards,
            find_ssns,
            PhoneFinder(region),
        )

    def redact(self, text: str) -> str:
        """The text with each secret replaced; again gives the same.

        Time grows in proportion to the length of the text.
        """
        for _ in range(PASSES):
            spans = self.find(text)
            if not spans:
                break
            text = "".join(_replaced(text, spans))
        return text

    def find(self, text: str) -> list[Span]:
        """The secrets of a text, in order, none of them overlapping."""
        view = View.of(text)
        found = merged(span for finder in self._finders for span in finder(view))
        kept = [span for span in found if span.kind in self._kinds]
        placed = [Span(*view.span(span.start, span.end), span.kind) for span in kept]
        return merged(around_placeholders(placed, text))


def _replaced(text: str, spans: Iterable[Span]) -> Iterator[str]:
    at = 0
    for span in spans:
        yield text[at : span.start]
        yield f"[REDACTED:{span.kind}]"
        at = span.end
    yield text[at:]
