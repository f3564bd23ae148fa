"""The log of changes to notes and facts: a row for each call, with the texts before and after.

Rows are only added. Reverting one adds a row, which can be reverted in turn.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hookline_hookspecs import Context, Host, Origin, Transaction
from hookline_hookspecs.chat_files import Chat
from hookline_hookspecs.stored_origins import kept, read, stored

from .facts import next_number

DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class ChangeSource:
    """Where a change comes from.

    ``how`` is ``chat``, ``review``, ``command``, ``undo``, or the kind of another session.
    ``origins`` are the people and pages it was learned from.
    """

    chat: Chat
    session_id: str
    turn_id: str
    how: str
    origins: tuple[Origin, ...] = ()

    @classmethod
    async def of(cls, ctx: Context) -> ChangeSource:
        """Return the source of a change in ``ctx``; of a review, the last turn it reviewed."""
        session = ctx.session
        chat, origins = Chat.of(session), kept(ctx.origins)
        if session.kind == "review" and session.parent_id:
            rows = await ctx.host.storage.fetch("last_turn", session_id=session.parent_id)
            turn_id = rows[0]["id"] if rows else ""
            return cls(chat, session.parent_id, turn_id, "review", origins)
        turn_id = ctx.turn.id
        how = session.kind if turn_id else "command"
        return cls(chat, session.id, turn_id, how, origins)


@dataclass(frozen=True, slots=True)
class LogEntry:
    """A row of the log.

    ``turn`` is the turn's number in its session, None if it is no longer stored. ``undone_by`` is
    the number of the row that reverted this one.
    """

    number: int
    at: float
    chat: Chat
    session_id: str
    turn_id: str
    turn: int | None
    origin: str
    changes: Sequence[Mapping[str, Any]]
    undoes: int | None
    undone_by: int | None
    origins: tuple[Origin, ...] = ()

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> LogEntry:
        """Return the entry of a database row."""
        return cls(
            row["number"],
            row["at"],
            Chat(row["channel"], row["chat_id"]),
            row["session_id"],
            row["turn_id"],
            row.get("turn"),
            row["origin"],
            json.loads(row["changes"]),
            row["undoes"],
            row.get("undone_by"),
            read(row["origins"]),
        )


def add_entry(
    db: Transaction,
    source: ChangeSource,
    changes: Sequence[Mapping[str, Any]],
    now: float,
    undoes: int | None = None,
) -> int:
    """Log ``changes`` in the running transaction; return the row's number, 0 if nothing changed."""
    if not changes:
        return 0
    number = next_number(db, "log")
    db.execute(
        "add_entry",
        number=number,
        at=now,
        channel=source.chat.channel,
        chat_id=source.chat.chat_id,
        session_id=source.session_id,
        turn_id=source.turn_id,
        origin=source.how,
        changes=json.dumps(list(changes), ensure_ascii=False),
        undoes=undoes,
        origins=stored(source.origins),
    )
    return number


def find_entry(db: Transaction, number: int) -> LogEntry | None:
    """Return the entry of this number, or None."""
    rows = db.fetch("entry", number=number)
    return LogEntry.of(rows[0]) if rows else None


def undone_by(db: Transaction, number: int) -> int | None:
    """Return the row that reverted this one, unless that was reverted itself."""
    rows = db.fetch("undone_by", number=number)
    if not rows:
        return None
    later: int = rows[0]["number"]
    return later if undone_by(db, later) is None else None


async def newest(host: Host, limit: int) -> list[LogEntry]:
    """Return the newest rows, newest first."""
    return [LogEntry.of(row) for row in await host.storage.fetch("newest_entries", limit=limit)]
