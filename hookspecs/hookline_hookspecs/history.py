"""Changes to a session's history."""

from __future__ import annotations

from dataclasses import dataclass

from .messages import Message
from .turns import Session


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Replaces messages ``start`` to ``stop`` (exclusive) of the history with ``messages``."""

    start: int
    stop: int
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Compacted:
    """A history was compacted (signal ``compacted``); the counts are of messages."""

    session: Session
    before: int
    after: int
