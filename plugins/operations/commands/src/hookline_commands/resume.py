"""Finds the sessions of a chat by the beginning of their id, and describes each in a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from hookline_hookspecs import Host, Session
from hookline_hookspecs.sentences import N_
from hookline_hookspecs.visible_text import code_span, spell_out
from hookline_hookspecs.web import tn

MAX_SESSIONS = 1000
"""The newest sessions of a chat, which are searched."""
MAX_LISTED = 10
"""Sessions in a reply at most."""
MAX_NAME_CHARS = 60
Row = Mapping[str, Any]


async def chat_sessions(
    host: Host, chat: Session, prefix: str = "", limit: int = MAX_LISTED
) -> Sequence[Row]:
    """Return the chat's sessions that have turns, the last used first.

    Each has ``id title turns updated first_words``. Their ids begin with ``prefix``.
    """
    where = {"channel": chat.channel, "chat_id": chat.chat_id}
    rows = await host.storage.fetch(
        "chat_sessions", **where, prefix=prefix, chars=len(prefix), limit=MAX_SESSIONS
    )
    return [row for row in rows if row["turns"]][:limit]


def session_name(row: Row) -> str:
    """Return a session's title, or its first words, on one line."""
    words = spell_out(" ".join(str(row["title"] or row["first_words"] or "").split()))
    return words if len(words) <= MAX_NAME_CHARS else words[: MAX_NAME_CHARS - 1] + "…"


def session_line(row: Row) -> str:
    """Return the line that shows a session in a list."""
    used = datetime.fromtimestamp(row["updated"]).strftime("%Y-%m-%d %H:%M")
    turns = tn("{n} turn", "{n} turns", row["turns"])
    return " · ".join(filter(None, [row["id"], used, turns, code_span(session_name(row))]))


def session_list(rows: Sequence[Row], heading: str) -> str:
    """Return the list of sessions from which a person can choose."""
    if not rows:
        return N_("This chat has no session to resume yet.")
    return "\n".join([heading, *map(session_line, rows)])
