"""Where entries came from: how it is shown, and where it is stored for notes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hookline_hookspecs import Host, Origin, Transaction
from hookline_hookspecs.stored_origins import named, read, stored, strangers


def shown(origins: Sequence[Origin]) -> str:
    """The sources for a person, such as ``from https://page.example/``; empty without any."""
    return f"from {named(origins)}" if origins else ""


def author(origins: Sequence[Origin]) -> str:
    """Who is named beside an entry: nobody for the operator's own words."""
    return shown(strangers(origins))


def note_key(text: str) -> str:
    """The key under which the origins of a note are stored."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def keep_notes(
    db: Transaction, changes: Iterable[Mapping[str, Any]], origins: Sequence[Origin]
) -> None:
    """Store the origins of the notes that ``changes`` have written.

    Those of a note that is gone stay: an undo brings it back.
    """
    for change in changes:
        if change["after"] is not None:
            row = {"file": change["file"], "text": note_key(change["after"])}
            db.execute("drop_note_origins", **row)
            db.execute("add_note_origins", **row, origins=stored(origins))


async def of_notes(host: Host, file: str) -> dict[str, tuple[Origin, ...]]:
    """The origins of a file's notes, by :func:`note_key`."""
    rows = await host.storage.fetch("note_origins", file=file)
    return {row["text"]: read(row["origins"]) for row in rows}
