"""``/fork``: a session that begins as a copy of another one."""

from __future__ import annotations

from hookline_hookspecs import Conversations, Host, Session, SessionBranches

from .session_ids import new_session_id


async def fork_session(host: Host, session: Session, title: str) -> str | None:
    """Copy a session within its chat, make the copy the current one, and return its id.

    Return None if the session has no messages. Raises ``HooklineError`` if the copy may not have
    the session's mode, or the store fails.
    """
    if not await host.messages(session.id):
        return None
    forked = new_session_id()
    chat = (session.channel, session.chat_id)
    if not await host.services[SessionBranches].copy(session.id, forked, chat):
        return None
    await host.services[Conversations].reopen(forked)
    if title:
        await host.set_title(forked, title)
    return forked
