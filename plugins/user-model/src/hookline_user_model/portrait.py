"""The text of a ``USER.md`` and its parts: pinned lines, lines written by hand, the narrative.

Nothing here touches a disk; :mod:`.userfile` does. Lines that a person pinned or wrote are kept by
curation word for word; only the narrative, which is the rest, is written anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

PIN = "- (pinned) "
"""How a pinned line begins."""
_PINNED = re.compile(r"\s*[-*]?\s*\(pinned\)\s*\S", re.IGNORECASE)
_LINE_END = re.compile("\r\n|\r|\n|\u2028|\u2029")


@dataclass(frozen=True, slots=True)
class Portrait:
    """The lines of a portrait, blank ones left out, each in one of three parts."""

    pinned: tuple[str, ...]
    by_hand: tuple[str, ...]
    narrative: tuple[str, ...]

    @classmethod
    def of(cls, text: str, by_hand: Iterable[str]) -> Portrait:
        """The parts of a text; ``by_hand`` are lines that a person wrote."""
        found = lines(text)
        known = set(by_hand)
        pinned = tuple(line for line in found if _PINNED.match(line))
        written = tuple(line for line in found if line in known and not _PINNED.match(line))
        rest = tuple(line for line in found if line not in known and not _PINNED.match(line))
        return cls(pinned, written, rest)

    @property
    def kept(self) -> tuple[str, ...]:
        """What curation may not touch."""
        return (*self.pinned, *self.by_hand)

    def telling(self, narrative: str) -> str:
        """The text with another narrative."""
        return joined([*self.kept, *self.told(narrative)])

    def told(self, narrative: str) -> list[str]:
        """The lines of a narrative without those that are kept anyway, and without any that say
        they are pinned: only a person pins."""
        kept = set(self.kept)
        found = lines(narrative)
        return [line for line in found if line not in kept and not _PINNED.match(line)]


def lines(text: str) -> list[str]:
    """The lines of a text, without blanks at their ends, blank ones left out."""
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
