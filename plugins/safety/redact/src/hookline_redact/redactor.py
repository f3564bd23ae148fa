"""``Redactor``: replaces the secrets of a text with placeholders."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TypeAlias

from .assignments import find_assignments
from .cards import find_cards
from .emails import find_emails
from .headers import find_headers
from .jwts import find_jwts
from .key_shapes import find_keys
from .phones import PhoneFinder
from .private_keys import find_private_keys
from .spans import KINDS, Kind, Span, exclude_placeholders, merge_spans
from .ssns import find_ssns
from .text_view import TextView
from .urls import find_url_passwords

Finder: TypeAlias = Callable[[TextView], Iterable[Span]]
MAX_PASSES = 8
"""Passes over one text. The second finds secrets that the first one exposed; more are rare."""


class Redactor:
    """Finds secrets of the given ``kinds``, with the national phone numbers of ``region``."""

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
        """The text with each secret replaced. Redacting the result again changes nothing.

        The time is proportional to the length of the text.
        """
        for _ in range(MAX_PASSES):
            spans = self.find(text)
            if not spans:
                break
            text = "".join(_replace(text, spans))
        return text

    def find(self, text: str) -> list[Span]:
        """The secrets of a text, in order and without overlaps."""
        view = TextView.of(text)
        found = merge_spans(span for finder in self._finders for span in finder(view))
        selected = [span for span in found if span.kind in self._kinds]
        original = [Span(*view.span(span.start, span.end), span.kind) for span in selected]
        return merge_spans(exclude_placeholders(original, text))


def _replace(text: str, spans: Iterable[Span]) -> Iterator[str]:
    at = 0
    for span in spans:
        yield text[at : span.start]
        yield f"[REDACTED:{span.kind}]"
        at = span.end
    yield text[at:]
