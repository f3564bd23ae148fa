"""Branches a session: copies it up to a message into a new chat."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from hookline_hookspecs import Host, SessionBranches
from hookline_hookspecs.web import Identity, Problem, t

from .files import Files
from .session_names import person_text
from .session_owner import CHANNEL, chat_of
from .session_reader import SessionReader


async def branch(
    host: Host, reader: SessionReader, files: Files, who: Identity, session_id: str, before: Any
) -> dict[str, Any]:
    """Copy a session up to the message ``before``, or all but a running turn.

    Returns the ``id`` of the new chat, and the ``text`` of that message with copies of its
    ``files``. Raises :class:`Problem` (404, 400, 403, 409).
    """
    row = await reader.row(who, session_id)
    if who.channel != CHANNEL:
        raise Problem(
            403, "forbidden", t("Only people who signed in to the page can start a chat.")
        )
    text, turn = "", ""
    if before is not None:
        text, turn = await message_before(host, session_id, before)
    new = str(uuid4())
    if not await host.services[SessionBranches].copy(row["id"], new, chat_of(who.name), before):
        raise Problem(
            409, "not_stored", t("Session {id} is not stored yet.", id=row["id"]), t("Try again.")
        )
    return {"id": new, "text": text, "files": await files.again(who, row["id"], turn)}


async def message_before(host: Host, session_id: str, before: Any) -> tuple[str, str]:
    """Return text and turn of the message with the sequence ``before``, which began a turn.

    Raises :class:`Problem` (400).
    """
    if not isinstance(before, int) or isinstance(before, bool):
        raise Problem(400, "bad_request", "before must be a sequence number or null.")
    found = await host.storage.fetch("begins", id=session_id, seq=before)
    if not found or found[0]["role"] != "user" or not found[0]["first"]:
        why = t("A chat can branch only before a message of yours that began a turn.")
        raise Problem(400, "no_message", why, t("Choose another message."))
    return person_text(found[0]["text"]), str(found[0]["turn_id"])
