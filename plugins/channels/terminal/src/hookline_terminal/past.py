"""The terminal's earlier sessions: which there are, and what was said last in one."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from hookline_hookspecs import CommandError, Host, Message, Question
from hookline_markdown import one_line

CHAT = "default"
MOST = 1000
"""Sessions that can be chosen, the last used."""
RECALLED = 4
"""Messages that are shown when a session is resumed."""
FOLDED = 3
"""Lines that are shown of each of them."""
CANDIDATES = 5


@dataclass(frozen=True, slots=True)
class Past:
    """A session in which something was said; ``used`` is Unix time, ``workspace`` may be empty."""

    id: str
    name: str
    turns: int
    used: float
    workspace: str

    @property
    def when(self) -> str:
        """When it was last used, in local time."""
        return datetime.fromtimestamp(self.used).strftime("%Y-%m-%d %H:%M")

    def holds(self, words: str) -> bool:
        """Return whether its name, id or folder holds every one of the words."""
        text = f"{self.name} {self.id} {self.when} {self.workspace}".casefold()
        return all(word in text for word in words.casefold().split())


async def past_sessions(host: Host) -> list[Past]:
    """Return the sessions of the terminal, the last used first."""
    rows = await host.storage.fetch("conversations", chat_id=CHAT, limit=MOST)
    return [
        Past(
            row["id"],
            " ".join(str(row["title"] or row["first_words"] or "").split()),
            row["turns"],
            row["updated"],
            row["workspace"] or "",
        )
        for row in rows
    ]


async def last_session(host: Host, workspace: Path) -> str:
    """Return the id of the session last used in this folder. Raises ``CommandError``."""
    found = await past_sessions(host)
    here = [one for one in found if one.workspace in ("", str(workspace))]
    if here:
        return here[0].id
    others = "`hookline chat --resume` shows those of other folders"
    begin = "`hookline chat` begins one"
    hint = f"{others}, {begin}" if found else begin
    raise CommandError(f"no session was held in {workspace} yet; {hint}")


async def session_called(host: Host, prefix: str) -> str:
    """Return the only id that begins with ``prefix``, or is it. Raises ``CommandError``."""
    found = [one for one in await past_sessions(host) if one.id.startswith(prefix)]
    if any(one.id == prefix for one in found):
        return prefix
    if len(found) == 1:
        return found[0].id
    if not found:
        raise CommandError(
            f"there is no session {prefix} of the terminal; `hookline chat --resume` shows those "
            "there are"
        )
    several = "".join(f"\n  {one.id}  {one.when}  {one.name[:60]}" for one in found[:CANDIDATES])
    raise CommandError(f"{prefix} is the beginning of {len(found)} sessions:{several}")


async def open_question(host: Host, session_id: str) -> Question | None:
    """Return the question with choices that the session still waits for an answer to."""
    rows = await host.storage.fetch("open_question", id=session_id)
    try:
        stored: Any = json.loads(rows[0]["question"] or "null") if rows else None
        choices = [one if isinstance(one, str) else one["label"] for one in stored["choices"]]
        return Question(stored["text"], tuple(choices)) if choices else None
    except (ValueError, TypeError, KeyError):
        return None  # there is none, or one that only core can read


async def recap(host: Host, session_id: str, columns: int, messages: int = RECALLED) -> list[str]:
    """Return the last messages of a session as lines of at most ``columns`` characters."""
    stored = [one for one in await host.messages(session_id) if one.text.strip()]
    shown = stored[-messages:]
    earlier = len(stored) - len(shown)
    lines = []
    if earlier:
        lines.append(f"  ⋯ {earlier} earlier {'message' if earlier == 1 else 'messages'}")
    for message in shown:
        lines += _folded(message, columns)
    return lines


def _folded(message: Message, columns: int) -> list[str]:
    """The beginning of a message; a person's is marked as it is when it is sent."""
    first, rest = ("› ", "  ") if message.role == "user" else ("  ", "  ")
    lines = [line for line in message.text.strip().splitlines() if line.strip()]
    shown = [one_line(line, columns - 4) for line in lines[:FOLDED]]
    if len(lines) > FOLDED:
        more = len(lines) - FOLDED
        shown.append(f"… {more} more {'line' if more == 1 else 'lines'}")
    return [f"{rest if n else first}{line}" for n, line in enumerate(shown)]
