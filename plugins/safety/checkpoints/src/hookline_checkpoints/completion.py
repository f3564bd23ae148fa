"""Completion of ``/rewind``: hashes with time and title, then what to restore."""

from __future__ import annotations

from collections.abc import Sequence

from .store import SavedSnapshot
from .texts import HASH_CHARS, clock

SCOPES = (
    ("files", "put back the files that the agent changed"),
    ("all", "put back all files, also those that others changed"),
    ("conversation", "remove the turns since then from the conversation"),
    ("both", "files and conversation"),
    ("history", "bring back branches, tags and stash of the repository"),
)
DIFF = "diff"


def completions(found: Sequence[SavedSnapshot], typed: str) -> list[tuple[str, str]]:
    """Return ``(argument, description)`` for the text ``typed`` so far, newest first."""
    *before, last = [*typed.split(), ""] if typed.endswith(" ") else typed.split() or [""]
    begun = last.casefold()
    if not before:
        hashes = _hashes(found, begun)
        more = "show what has changed since one: /rewind diff HASH"
        return [*hashes, (DIFF, more)] if hashes and DIFF.startswith(begun) else hashes
    if before == [DIFF]:
        return [(f"{DIFF} {hash_}", description) for hash_, description in _hashes(found, begun)]
    if len(before) == 1:
        return [(f"{before[0]} {name}", text) for name, text in SCOPES if name.startswith(begun)]
    return []


def _hashes(found: Sequence[SavedSnapshot], prefix: str) -> list[tuple[str, str]]:
    return [
        (saved.commit[:HASH_CHARS], f"{clock(saved)}, before “{saved.title or '(no words)'}”")
        for saved in found
        if saved.commit.startswith(prefix)
    ]
