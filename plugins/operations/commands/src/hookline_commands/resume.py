"""The sessions of a chat: found by the beginning of an id, and described in a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from hookline_hookspecs import Host, Session

MOST = 1000
"""Sessions of a chat among which one is found, the newest."""
LISTED = 10
"""Sessions that are named in an answer."""
NAME_CHARS = 60
Row = Mapping[str, Any]


async def sessions_of(
    host: Host, chat: Session, prefix: str = "", limit: int = LISTED
) -> Sequence[Row]:
    """Return the chat's sessions in which something was said, the last used first.

    Each has ``id title turns updated first_words``. ``prefix`` begins their ids.
    """
    where = {"channel": chat.channel, "chat_id": chat.chat_id}
    rows = await host.storage.fetch(
        "chat_sessions", **where, prefix=prefix, chars=len(prefix), limit=MOST
    )
    return [row for row in rows if row["turns"]][:limit]


def name_of(row: Row) -> str:
    """Return a session's title, or the first words said in it, on one line."""
    words = " ".join(str(row["title"] or row["first_words"] or "").split())
    return words if len(words) <= NAME_CHARS else words[: NAME_CHARS - 1] + "…"


def line_of(row: Row) -> str:
    """Return the line that shows a session in a list."""
    used = datetime.fromtimestamp(row["updated"]).strftime("%Y-%m-%d %H:%M")
    turns = "1 turn" if row["turns"] == 1 else f"{row['turns']} turns"
    return f"{row['id']}  {used}  {turns}  {name_of(row)}".rstrip()


def choices(rows: Sequence[Row], heading: str) -> str:
    """Return the list of sessions among which a person chooses."""
    if not rows:
        return "There is no session to resume in this chat yet."
    return "\n".join([heading, *map(line_of, rows)])
