"""Versions of a chat: other answers to a message, and other wordings of one.

A version is a session of its own, copied up to a message, so that its prompt begins with the same
bytes. The page shows the versions of a chat as one chat, and nothing is lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hookline_hookspecs import Host, Inspection, SessionBranches
from hookline_hookspecs.web import Identity, Problem, t

from .branch import message_before
from .files import Files
from .message_sender import MessageSender
from .session_owner import CHANNEL, chat_of, is_mine, is_uuid
from .session_reader import SessionReader
from .version_tree import base_of


class Versions:
    """Creates versions, and finds those of a chat."""

    def __init__(
        self, host: Host, reader: SessionReader, files: Files, sender: MessageSender
    ) -> None:
        self._host, self._reader, self._files, self._sender = host, reader, files, sender

    async def create(self, who: Identity, session_id: str, body: Mapping[str, Any]) -> str:
        """Create a version with another form of the message ``before``, or another answer to it.

        ``body`` has the ``id`` of the new session, the ``message_id``, and for another wording
        ``text`` and ``files``: the ids of those of the message's files that are kept. A repeated
        request changes nothing. Raises :class:`Problem` (400, 403, 404, 409).
        """
        row = await self._reader.row(who, session_id)
        if who.channel != CHANNEL or not is_mine(who, (row["channel"], row["chat_id"])):
            raise Problem(
                403, "forbidden", t("Only the owner of the chat can change its messages.")
            )
        new, text, kept = body.get("id"), body.get("text"), body.get("files")
        if not is_uuid(new) or not (text is None or isinstance(text, str)):
            raise Problem(400, "bad_request", "id must be a lower-case UUID, and text a string.")
        if not (kept is None or isinstance(kept, list)):
            raise Problem(400, "bad_request", "files must be a list of ids.")
        said, turn = await message_before(self._host, row["id"], body.get("before"))
        files: list[str] = []
        is_new = not await self._host.storage.fetch("version", id=new)
        message = {"message_id": body.get("message_id"), "text": said if text is None else text}
        if is_new:
            await self._copy(who, row["id"], str(new), body["before"], edited=text is not None)
        try:
            if is_new:
                copies = await self._files.again(who, row["id"], turn, kept)
                files = [one["id"] for one in copies]
            accepted = await self._sender.message(who, str(new), {**message, "files": files})
        except Exception:  # else the version would hide its chat
            if is_new:
                await self._host.services[Inspection].delete_session(str(new))
                await self._host.storage.execute("forget_version", id=new)
            raise
        return str(accepted["session"])

    async def _copy(
        self, who: Identity, session_id: str, new: str, before: int, *, edited: bool
    ) -> None:
        branches = self._host.services[SessionBranches]
        if not await branches.copy(session_id, new, chat_of(who.name), before):
            raise Problem(409, "not_stored", t("The chat is not stored yet."), t("Try again."))
        family = await self._host.storage.fetch("family", id=session_id)
        base = base_of(family, session_id, before)
        root = family[0]["root"] if family else session_id
        now = self._host.now()
        first = {"id": root, "root": root, "base": None, "fork_seq": None, "edited": 0}
        await self._host.storage.execute("put_version", **first, created=now)
        made = {"id": new, "root": root, "base": base, "fork_seq": before, "edited": int(edited)}
        await self._host.storage.execute("put_version", **made, created=now)

    async def family(self, session_id: str) -> list[str]:
        """Return the ids of all versions of a chat; of one without others, its own."""
        rows = await self._host.storage.fetch("family", id=session_id)
        return [row["id"] for row in rows] or [session_id]
