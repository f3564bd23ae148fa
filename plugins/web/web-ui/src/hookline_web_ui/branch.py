"""Branches a session: copies it up to a message into a new chat."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from hookline_hookspecs import Host
from hookline_hookspecs.web import Identity, Problem, SessionBranches

from .files import Files
from .session_owner import CHANNEL, chat_of
from .session_reader import SessionReader, person_text


async def branch(
    host: Host, reader: SessionReader, files: Files, who: Identity, session_id: str, before: Any
) -> dict[str, Any]:
    """Copy a session up to the message ``before``, or all but a running turn.

    Returns the ``id`` of the new chat, and the ``text`` of that message with copies of its
    ``files``. Raises :class:`Problem` (404, 400, 403, 409).
    """
    row = await reader.row(who, session_id)
    if who.channel != CHANNEL:
        raise Problem(403, "forbidden", "Only people who signed in to the page can start a chat.")
    text, turn = "", ""
    if before is not None:
        if not isinstance(before, int) or isinstance(before, bool):
            raise Problem(400, "bad_request", "before must be a sequence number or null.")
        found = await host.storage.fetch("begins", id=session_id, seq=before)
        if not found or found[0]["role"] != "user" or not found[0]["first"]:
            why = "A chat can branch only before a message of yours that began a turn."
            raise Problem(400, "no_message", why, "Choose another message.")
        text, turn = person_text(found[0]["text"]), found[0]["turn_id"]
    new = str(uuid4())
    if not await host.services[SessionBranches].copy(row["id"], new, chat_of(who.name), before):
        raise Problem(409, "not_stored", f"Session {row['id']} is not stored yet.", "Try again.")
    return {"id": new, "text": text, "files": await files.again(who, row["id"], turn)}
