"""Finds keys by their shape, with the table ``key_shapes.yaml``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from .spans import Span
from .text_view import TextView

_MAX_CHARS_BEFORE_LITERAL = 90
"""Characters before a literal that may belong to the key."""
_MAX_CHARS_TO_SECRET = 200
"""Characters after a key id that are searched for its secret."""
_WORD = re.compile(r"\w", re.ASCII)
_HEX = re.compile(r"[0-9a-fA-F]+\Z")


@dataclass(frozen=True, slots=True)
class KeyShape:
    """One row of the table.

    ``starts`` are literals and ``body`` matches what follows them. ``before`` matches the part of
    the key in front of the literal; ``lead`` is a word that may precede the key; with ``inside``
    the key may start within a word; ``keep`` leaves the literal in the text; ``also`` matches a
    second secret behind the key; ``source`` says where the shape is published.
    """

    source: str
    starts: tuple[str, ...]
    body: re.Pattern[str]
    before: re.Pattern[str] | None
    lead: str
    inside: bool
    keep: bool
    also: re.Pattern[str] | None

    @classmethod
    def of(cls, row: dict[str, Any]) -> KeyShape:
        """The shape that a row of the file describes."""
        before, also = row.get("before"), row.get("also")
        return cls(
            row["source"],
            tuple(row["starts"]),
            re.compile(row["body"]),
            re.compile(f"(?:{before})\\Z") if before else None,
            row.get("lead", ""),
            row.get("inside", False),
            row.get("keep", False),
            re.compile(rf"(?<![\w/+]){also}(?![\w/+=])") if also else None,
        )

    def find(self, text: str) -> Iterator[Span]:
        """The keys of this shape."""
        for literal in self.starts:
            at = text.find(literal)
            while at >= 0:
                end = at + 1
                for span in self._at(text, at, len(literal)):
                    yield span
                    end = max(end, span.end)
                at = text.find(literal, end)

    def _at(self, text: str, at: int, length: int) -> Iterator[Span]:
        found = self.body.match(text, at + length)
        if found is None or _continues(text, found.end()):
            return
        start = at + length if self.keep else at
        if self.before is not None:
            front = self.before.search(text, max(0, at - _MAX_CHARS_BEFORE_LITERAL), at)
            if front is None:
                return
            start = front.start()
        if not self.inside and not self.keep and _joined(text, start, self.lead):
            return
        yield Span(start, found.end(), "api_key")
        if self.also is not None:
            for second in self.also.finditer(text, found.end(), found.end() + _MAX_CHARS_TO_SECRET):
                if not _HEX.match(second[0]):
                    yield Span(*second.span(), "api_key")


def _continues(text: str, end: int) -> bool:
    """Whether a word goes on where the key should have ended."""
    return end < len(text) and _WORD.match(text, end) is not None and text[end - 1] != "="


def _joined(text: str, start: int, lead: str) -> bool:
    """Whether a longer word contains the start, as ``task-force`` contains ``sk-force``."""
    if lead and text[max(0, start - len(lead)) : start].lower() == lead:
        start -= len(lead)
    return start > 0 and _WORD.match(text, start - 1) is not None


@cache
def load_key_shapes() -> tuple[KeyShape, ...]:
    """Read the table."""
    rows = yaml.load(
        (files(__package__) / "key_shapes.yaml").read_text("utf-8"), Loader=yaml.CSafeLoader
    )
    return tuple(KeyShape.of(row) for row in rows)


def find_keys(view: TextView) -> Iterator[Span]:
    """Find keys of the services in the table."""
    for shape in load_key_shapes():
        yield from shape.find(view.text)
