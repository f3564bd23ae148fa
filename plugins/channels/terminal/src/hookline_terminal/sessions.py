"""Sessions of the terminal: their ids, their mode, and copies of them."""

from __future__ import annotations

import re
import time
import uuid
from typing import TYPE_CHECKING, cast

from hookline_hookspecs import CommandError, Conversations, Host, Modes, Session, SessionBranches

if TYPE_CHECKING:
    from hookline_hookspecs import Mode

_GENERATED = re.compile(r"\d{8}-[0-9a-f]{8}")
MAX_ID_CHARS = 200


def new_session_id(now: float) -> str:
    """Return the id of a new session: the date and eight hexadecimal digits."""
    return f"{time.strftime('%Y%m%d', time.localtime(now))}-{uuid.uuid4().hex[:8]}"


def is_generated(session_id: str) -> bool:
    """Return whether the id was generated, and not chosen by a person."""
    return _GENERATED.fullmatch(session_id) is not None


def is_valid(session_id: str) -> bool:
    """Return whether a person may choose this id."""
    return (
        0 < len(session_id) <= MAX_ID_CHARS and session_id.isprintable() and "/" not in session_id
    )


async def choose_mode(host: Host, session_id: str, mode: str) -> None:
    """Set the session's mode. Raises ``CommandError`` if that is not possible."""
    modes = host.services.get(Modes)
    if modes is None:
        raise CommandError(
            "--mode needs the plugin permissions, which is off. "
            "Run `hookline plugins enable permissions`."
        )
    await modes.set(session_id, cast("Mode", mode))


async def fork_session(host: Host, session: Session, title: str) -> str | None:
    """Copy a session within its chat, make the copy the current one, and return its id (``/fork``).

    Return None if the session has no messages. Raises ``HooklineError`` if the copy may not have
    the session's mode, or the store fails.
    """
    if not await host.messages(session.id):
        return None
    forked = new_session_id(host.now())
    chat = (session.channel, session.chat_id)
    if not await host.services[SessionBranches].copy(session.id, forked, chat):
        return None
    await host.services[Conversations].reopen(forked)
    if title:
        await host.set_title(forked, title)
    return forked
