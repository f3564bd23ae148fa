"""The text of a ``USER.md`` and its parts: pinned lines, lines written by hand, the narrative.

Nothing here accesses the disk; :mod:`.user_file` does. Updates keep lines that a person pinned or
wrote; only the rest, the narrative, is rewritten.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

PIN = "- (pinned) "
"""The beginning of a pinned line."""
_PINNED = re.compile(r"\s*[-*]?\s*\(pinned\)\s*\S", re.IGNORECASE)
_LINE_END = re.compile("\r\n|\r|\n|\u2028|\u2029")


@dataclass(frozen=True, slots=True)
class Profile:
    """The lines of a profile without blank ones, in three parts."""

    pinned: tuple[str, ...]
    by_hand: tuple[str, ...]
    narrative: tuple[str, ...]

    @classmethod
    def of(cls, text: str, by_hand: Iterable[str]) -> Profile:
        """Split a text into its parts; ``by_hand`` are the lines that a person wrote."""
        found = lines(text)
        known = set(by_hand)
        pinned = tuple(line for line in found if _PINNED.match(line))
        written = tuple(line for line in found if line in known and not _PINNED.match(line))
        rest = tuple(line for line in found if line not in known and not _PINNED.match(line))
        return cls(pinned, written, rest)

    @property
    def kept(self) -> tuple[str, ...]:
        """The lines that an update may not change."""
        return (*self.pinned, *self.by_hand)

    def with_narrative(self, narrative: str) -> str:
        """Return the text with another narrative."""
        return join_lines([*self.kept, *self.narrative_lines(narrative)])

    def narrative_lines(self, narrative: str) -> list[str]:
        """Return the lines of a narrative without the kept ones, and without lines that claim to be
        pinned: only a person pins."""
        kept = set(self.kept)
        found = lines(narrative)
        return [line for line in found if line not in kept and not _PINNED.match(line)]


def lines(text: str) -> list[str]:
    """Return the lines of a text, right-stripped, without blank ones."""
    found = (line.rstrip() for line in _LINE_END.split(text.removeprefix("\ufeff")))
    return [line for line in found if line.strip()]


def join_lines(found: Sequence[str]) -> str:
    """Join lines to a text; empty without lines."""
    return "\n".join(found)


def new_lines(text: str, before: str) -> list[str]:
    """Return the lines of ``text`` that are not in ``before``."""
    known = set(lines(before))
    return [line for line in lines(text) if line not in known]


def pin(text: str) -> str:
    """Return ``text`` as a pinned line."""
    return PIN + " ".join(text.split())
