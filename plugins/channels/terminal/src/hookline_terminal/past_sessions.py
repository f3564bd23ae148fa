"""Earlier sessions of the terminal, and the last messages of one."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from hookline_hookspecs import CommandError, Host, Message, Question
from hookline_markdown import one_line

CHAT_ID = "default"
MAX_SESSIONS = 1000
MAX_RECAP_MESSAGES = 4
"""Messages shown when a session is resumed."""
MAX_RECAP_LINES = 3
"""Lines shown of each of them."""
MAX_CANDIDATES = 5
"""Sessions listed if the beginning of an id is ambiguous."""


@dataclass(frozen=True, slots=True)
class PastSession:
    """A session with messages; ``used`` is Unix time, ``workspace`` may be empty."""

    id: str
    name: str
    turns: int
    used: float
    workspace: str

    @property
    def when(self) -> str:
        """When it was last used, in local time."""
        return datetime.fromtimestamp(self.used).strftime("%Y-%m-%d %H:%M")

    def matches(self, words: str) -> bool:
        """Return whether its name, id, time and folder together contain every word."""
        text = f"{self.name} {self.id} {self.when} {self.workspace}".casefold()
        return all(word in text for word in words.casefold().split())


async def past_sessions(host: Host) -> list[PastSession]:
    """Return the sessions of the terminal, the last used first."""
    rows = await host.storage.fetch("conversations", chat_id=CHAT_ID, limit=MAX_SESSIONS)
    return [
        PastSession(
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
    here = [past for past in found if past.workspace in ("", str(workspace))]
    if here:
        return here[0].id
    hint = "Run `hookline chat` to start one"
    if found:
        hint += ", or `hookline chat --resume` to pick one of another folder"
    raise CommandError(f"no session in {workspace} yet. {hint}.")


async def session_called(host: Host, prefix: str) -> str:
    """Return the id that is ``prefix``, or the only one that begins with it.

    Raises:
        CommandError: there is none, or more than one.
    """
    found = [past for past in await past_sessions(host) if past.id.startswith(prefix)]
    if any(past.id == prefix for past in found):
        return prefix
    if len(found) == 1:
        return found[0].id
    if not found:
        raise CommandError(
            f"no terminal session {prefix}. Run `hookline chat --resume` to pick one."
        )
    several = "".join(
        f"\n  {past.id}  {past.when}  {one_line(past.name, 60)}" for past in found[:MAX_CANDIDATES]
    )
    raise CommandError(f"{len(found)} sessions begin with {prefix}:{several}")


async def open_question(host: Host, session_id: str) -> Question | None:
    """Return the session's unanswered question with choices; None if there is none."""
    rows = await host.storage.fetch("open_question", id=session_id)
    try:
        stored: Any = json.loads(rows[0]["question"] or "null") if rows else None
        choices = [
            choice if isinstance(choice, str) else choice["label"] for choice in stored["choices"]
        ]
        return Question(stored["text"], tuple(choices)) if choices else None
    except (ValueError, TypeError, KeyError):
        return None  # none, or a form that only core can read


async def recap(
    host: Host, session_id: str, columns: int, max_messages: int = MAX_RECAP_MESSAGES
) -> list[str]:
    """Return the last messages of a session as lines of at most ``columns`` characters."""
    stored = [message for message in await host.messages(session_id) if message.text.strip()]
    shown = stored[-max_messages:]
    earlier = len(stored) - len(shown)
    lines = []
    if earlier:
        lines.append(f"  ⋯ {earlier} earlier {'message' if earlier == 1 else 'messages'}")
    for message in shown:
        lines += _folded(message, columns)
    return lines


def _folded(message: Message, columns: int) -> list[str]:
    """Return the first lines of a message; a person's is marked with ``›``."""
    first, rest = ("› ", "  ") if message.role == "user" else ("  ", "  ")
    lines = [line for line in message.text.strip().splitlines() if line.strip()]
    shown = [one_line(line, columns - 4) for line in lines[:MAX_RECAP_LINES]]
    if len(lines) > MAX_RECAP_LINES:
        more = len(lines) - MAX_RECAP_LINES
        shown.append(f"… {more} more {'line' if more == 1 else 'lines'}")
    return [f"{rest if n else first}{line}" for n, line in enumerate(shown)]
