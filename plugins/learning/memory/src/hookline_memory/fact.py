"""A fact: a row of the database that belongs to a chat, and its form for a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any

from hookline_hookspecs import Origin, origins_from_json, origins_to_json
from hookline_hookspecs.stored_origins import read, stored


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact, learned in the turn ``turn_id`` of ``session_id``.

    Times are Unix time in seconds; ``confidence`` is 0 to 1. ``origins`` are the people and pages
    it was learned from.
    """

    id: int
    channel: str
    chat_id: str
    content: str
    category: str
    confidence: float
    session_id: str
    turn_id: str
    created: float
    expires_at: float | None
    origins: tuple[Origin, ...] = ()

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Fact:
        """Return the fact of a database row."""
        return cls(**_columns(row), origins=read(row["origins"]))

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Fact:
        """Return the fact of a log entry."""
        return cls(**_columns(data), origins=origins_from_json(data.get("origins")))

    def to_row(self) -> dict[str, Any]:
        """Return the columns of the database row."""
        return {**_columns(self), "origins": stored(self.origins)}

    def to_json(self) -> dict[str, Any]:
        """Return the fact for a log entry."""
        return {**_columns(self), "origins": origins_to_json(self.origins)}

    def line(self) -> str:
        """Return the line that a model reads; :mod:`.facts_in_context` recognizes it."""
        day = datetime.fromtimestamp(self.created, UTC).date()
        until = ""
        if self.expires_at is not None:
            until = f", until {datetime.fromtimestamp(self.expires_at, UTC).date()}"
        return f"- {self.content} [{self.category}, {day}{until}]"


def _columns(given: Fact | Mapping[str, Any]) -> dict[str, Any]:
    """All fields except the origins."""
    names = [field.name for field in fields(Fact) if field.name != "origins"]
    if isinstance(given, Fact):
        return {name: getattr(given, name) for name in names}
    return {name: given[name] for name in names}
