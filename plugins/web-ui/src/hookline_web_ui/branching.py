"""A copy of a session up to a message, as a chat of one's own."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from hookline_hookspecs import Host, Transaction
from hookline_webkit import Identity, Problem

from .owning import CHANNEL, chat_of
from .reading import Reader

STEPS = ("session", "messages", "sidecars", "rewrites", "turns", "steps")


async def branch(
    host: Host, reader: Reader, who: Identity, session_id: str, before: Any
) -> dict[str, Any]:
    """Copy what was said before the message ``before``, or all but a turn under way; return the
    ``id`` of the new chat, and the ``text`` of that message.

    What the copy sends begins with the bytes that the session has sent, so that the provider's
    cache still holds. Raises :class:`Problem` (404, 400, 409).
    """
    row = await reader.row(who, session_id)
    if who.channel != CHANNEL:
        raise Problem(403, "forbidden", "Chats are begun on the page.")
    text = ""
    if before is not None:
        if not isinstance(before, int) or isinstance(before, bool):
            raise Problem(400, "bad_request", "before is the sequence of a message, or null.")
        found = await host.storage.fetch("begins", id=session_id, seq=before)
        if not found or found[0]["role"] != "user" or not found[0]["first"]:
            told = "A chat branches before a message of yours that began a turn."
            raise Problem(400, "no_message", told, "Choose another message.")
        text = found[0]["text"]
    new = str(uuid4())
    channel, chat_id = chat_of(who.name)
    mark, now = f".{new[:8]}", host.now()

    def work(transaction: Transaction) -> int:
        open_ = transaction.fetch("first_open", id=session_id)[0]["seq"]
        last = transaction.fetch("last_seq", id=session_id)[0]["seq"]
        cut = before if before is not None else (last or 0) + 1
        cut = cut if open_ is None else min(cut, open_)
        params: dict[str, Any] = {"id": session_id, "new": new, "before": cut, "mark": mark}
        copied = 0
        for step in STEPS:
            more = {"channel": channel, "chat_id": chat_id, "now": now} if step == "session" else {}
            copied += transaction.execute(f"branch_{step}", **params, **more)
        return copied

    if not await host.storage.transact(work):
        raise Problem(409, "not_stored", f"Session {row['id']} is not stored yet.", "Try again.")
    return {"id": new, "text": text}
