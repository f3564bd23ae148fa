"""What a channel offers after ``/rewind``: hashes with time and words, then what goes back."""

from __future__ import annotations

from collections.abc import Sequence

from .store import Saved
from .texts import HASH_CHARS, clock

SCOPES = (
    ("files", "put the files back"),
    ("conversation", "take the turns since then out of the conversation"),
    ("both", "files and conversation"),
)
DIFF = "diff"


def offered(found: Sequence[Saved], typed: str) -> list[tuple[str, str]]:
    """Return ``(argument, description)`` for what is ``typed`` so far, the newest first."""
    *before, last = [*typed.split(), ""] if typed.endswith(" ") else typed.split() or [""]
    begun = last.casefold()
    if not before:
        hashes = _hashes(found, begun)
        more = "show what has changed since one: /rewind diff HASH"
        return [*hashes, (DIFF, more)] if hashes and DIFF.startswith(begun) else hashes
    if before == [DIFF]:
        return [(f"{DIFF} {hash_}", told) for hash_, told in _hashes(found, begun)]
    if len(before) == 1:
        return [(f"{before[0]} {name}", told) for name, told in SCOPES if name.startswith(begun)]
    return []


def _hashes(found: Sequence[Saved], prefix: str) -> list[tuple[str, str]]:
    return [
        (saved.commit[:HASH_CHARS], f"{clock(saved)}, before “{saved.title or '(no words)'}”")
        for saved in found
        if saved.commit.startswith(prefix)
    ]
