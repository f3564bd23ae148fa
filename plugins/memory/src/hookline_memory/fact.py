"""One fact: a row that belongs to a chat, and how a model reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact. Times are Unix seconds, ``confidence`` is from 0 to 1; ``turn_id`` is the turn of
    ``session_id`` from which it was learnt."""

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

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Fact:
        """A row as a fact."""
        return cls(**{field.name: row[field.name] for field in fields(cls)})

    def to_json(self) -> dict[str, Any]:
        """For the log."""
        return asdict(self)

    def line(self) -> str:
        """Return the fact as a model reads it; :mod:`.shown` recognises it."""
        day = datetime.fromtimestamp(self.created, UTC).date()
        until = ""
        if self.expires_at is not None:
            until = f", until {datetime.fromtimestamp(self.expires_at, UTC).date()}"
        return f"- {self.content} [{self.category}, {day}{until}]"
