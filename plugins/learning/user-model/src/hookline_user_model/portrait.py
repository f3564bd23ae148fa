"""The text of a ``USER.md`` and its parts: pinned lines, lines written by hand, the narrative.

Nothing here accesses a disk; :mod:`.userfile` does. Curation keeps lines that a person pinned or
wrote word for word; only the narrative, which is the rest, is rewritten.
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
class Portrait:
    """The lines of a portrait without blank ones, each in one of three parts."""

    pinned: tuple[str, ...]
    by_hand: tuple[str, ...]
    narrative: tuple[str, ...]

    @classmethod
    def of(cls, text: str, by_hand: Iterable[str]) -> Portrait:
        """Split a text into its parts; ``by_hand`` are lines that a person wrote."""
        found = lines(text)
        known = set(by_hand)
        pinned = tuple(line for line in found if _PINNED.match(line))
        written = tuple(line for line in found if line in known and not _PINNED.match(line))
        rest = tuple(line for line in found if line not in known and not _PINNED.match(line))
        return cls(pinned, written, rest)

    @property
    def kept(self) -> tuple[str, ...]:
        """The lines that curation may not change."""
        return (*self.pinned, *self.by_hand)

    def telling(self, narrative: str) -> str:
        """Return the text with another narrative."""
        return joined([*self.kept, *self.told(narrative)])

    def told(self, narrative: str) -> list[str]:
        """Return the lines of a narrative without those that are kept anyway and without any that
        claim to be pinned: only a person pins."""
        kept = set(self.kept)
        found = lines(narrative)
        return [line for line in found if line not in kept and not _PINNED.match(line)]


def lines(text: str) -> list[str]:
    """Return the lines of a text, right-stripped, without blank ones."""
    found = (line.rstrip() for line in _LINE_END.split(text.removeprefix("\ufeff")))
    return [line for line in found if line.strip()]


def joined(found: Sequence[str]) -> str:
    """Lines as a text; empty if there are none."""
    return "\n".join(found)


def new_lines(text: str, before: str) -> list[str]:
    """The lines of ``text`` that are not in ``before``."""
    known = set(lines(before))
    return [line for line in lines(text) if line not in known]


def pin(text: str) -> str:
    """``text`` as a pinned line."""
    return PIN + " ".join(text.split())
