"""Where entries came from: how that is shown, and how it is stored for notes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hookline_hookspecs import Host, Origin, Transaction
from hookline_hookspecs.stored_origins import named, read, stored, strangers


def format_origins(origins: Sequence[Origin]) -> str:
    """Return the sources for a person, such as ``from https://page.example/``; empty without."""
    return f"from {named(origins)}" if origins else ""


def author_note(origins: Sequence[Origin]) -> str:
    """Return who is named beside an entry; empty for the operator's own words."""
    return format_origins(strangers(origins))


def note_key(text: str) -> str:
    """Return the key under which the origins of a note are stored."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def save_note_origins(
    db: Transaction, changes: Iterable[Mapping[str, Any]], origins: Sequence[Origin]
) -> None:
    """Store the origins of the notes that ``changes`` wrote.

    Origins of removed notes are kept, for an undo.
    """
    for change in changes:
        if change["after"] is not None:
            row = {"file": change["file"], "text": note_key(change["after"])}
            db.execute("drop_note_origins", **row)
            db.execute("add_note_origins", **row, origins=stored(origins))


async def load_note_origins(host: Host, file: str) -> dict[str, tuple[Origin, ...]]:
    """Return the origins of a file's notes by :func:`note_key`."""
    rows = await host.storage.fetch("note_origins", file=file)
    return {row["text"]: read(row["origins"]) for row in rows}
