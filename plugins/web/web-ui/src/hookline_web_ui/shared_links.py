"""Links that show a chat to whoever has them, without a login, as it was when it was shared.

The secret of a link is 256 random bits, of which only the SHA-256 is stored. Whether a link still
works is decided at each request: by its expiry, its chat, and the role of the person who made it.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from hookline_hookspecs import Host
from hookline_hookspecs.audit import note
from hookline_hookspecs.people import PeopleDirectory, PersonRole
from hookline_hookspecs.secrets import redacted
from hookline_hookspecs.visible_text import on_one_line
from hookline_hookspecs.web import Identity, Problem, t

from .session_names import name_of
from .session_owner import CHANNEL, is_mine
from .session_reader import SessionReader

if TYPE_CHECKING:
    from .plugin import Sharing

ROLES: Mapping[Sharing, tuple[PersonRole, ...]] = {
    False: (),
    "operators": ("admin",),
    "everyone": ("admin", "person"),
}
"""The roles that may share."""
DAYS = (1, 7, 30)
"""How long a link can last."""
DAY = 86400.0
EXPIRED_SECONDS = 30 * DAY
"""Seconds for which the page of a link says that it has expired."""
SECRET_BYTES = 32
MAX_SECRET_CHARS = 100
MAX_TITLE_CHARS = 160
Row = Mapping[str, Any]


class SharedLinks:
    """Creates, lists and revokes links, and finds the chat of one.

    Args:
        host: the plugin's host.
        reader: finds the chats that a person may see.
        sharing: who may share.
    """

    def __init__(self, host: Host, reader: SessionReader, sharing: Sharing) -> None:
        self._host, self._reader, self._roles = host, reader, ROLES[sharing]

    async def may_share(self, name: str) -> bool:
        """Return whether the person ``web:NAME`` may share chats now; False without ``access``."""
        people = self._host.services.get(PeopleDirectory)
        return people is not None and await people.role(f"{CHANNEL}:{name}") in self._roles

    async def create(self, who: Identity, session_id: str, days: Any) -> dict[str, Any]:
        """Create a link to a person's own chat, and return it with its ``path``.

        Raises :class:`Problem` (400, 403, 404, 409).
        """
        row = await self._own(who, session_id)
        if not await self.may_share(who.name):
            fix = t("An operator can allow it with the setting `share` of web-ui.")
            raise Problem(403, "forbidden", t("You cannot share chats by a link."), fix)
        if days not in DAYS or isinstance(days, bool | float):
            raise Problem(400, "bad_request", "days must be 1, 7 or 30.")
        (last,) = await self._host.storage.fetch("last_shareable", id=session_id)
        if last["seq"] is None:
            text = t("This chat has no finished answer yet.")
            raise Problem(409, "no_answer", text, t("Try again when the answer is complete."))
        secret, now = secrets.token_urlsafe(SECRET_BYTES), self._host.now()
        link = {
            "id": str(uuid4()),
            "session_id": session_id,
            "title": on_one_line(redacted(name_of(row)), MAX_TITLE_CHARS),
            "created": now,
            "expires": now + days * DAY,
        }
        self._note(who, link, "shared")
        await self._host.storage.execute(
            "put_shared_link",
            **link,
            digest=_digest(secret),
            owner=who.name,
            last_seq=last["seq"],
            last_created=last["created"],
        )
        return {**_as_json(link), "path": f"/shared/{secret}"}

    async def of_chat(self, who: Identity, session_id: str) -> list[dict[str, Any]]:
        """Return the valid links to a person's own chat. Raises :class:`Problem` (403, 404)."""
        await self._own(who, session_id)
        return await self._of(who, session_id)

    async def of_person(self, who: Identity) -> list[dict[str, Any]]:
        """Return the valid links of a person, newest first."""
        return await self._of(who, None)

    async def _of(self, who: Identity, session_id: str | None) -> list[dict[str, Any]]:
        if who.channel != CHANNEL or not await self.may_share(who.name):
            return []
        values = {"owner": who.name, "now": self._host.now(), "session": session_id}
        rows = await self._host.storage.fetch("shared_links_of", **values)
        return [_as_json(row) for row in rows]

    async def of_others(self, who: Identity) -> list[dict[str, Any]]:
        """Return the valid links of all other people, with their ``owner``; only for operators."""
        if not who.is_operator:
            return []
        values = {"owner": None, "now": self._host.now(), "session": None}
        rows = await self._host.storage.fetch("shared_links_of", **values)
        others = {row["owner"] for row in rows if row["owner"] != who.name}
        sharing = {name for name in others if await self.may_share(name)}
        return [{**_as_json(row), "owner": row["owner"]} for row in rows if row["owner"] in sharing]

    async def revoke(self, who: Identity, id_: str) -> None:
        """Delete a person's own link; for operators, anyone's. Raises :class:`Problem` (404)."""
        owner = None if who.is_operator else who.name
        rows = await self._host.storage.fetch("shared_link_of", id=id_, owner=owner)
        if not rows or who.channel != CHANNEL:
            raise Problem(404, "not_found", t("This link does not exist any more."))
        await self._host.storage.execute("forget_shared_link", id=id_)
        self._note(who, rows[0], "unshared")

    async def find(self, secret: str) -> Row | None:
        """Return the row of the link with this secret, which may have expired; None if there is
        none, or its person may not share any more."""
        if len(secret) > MAX_SECRET_CHARS:
            return None
        rows = await self._host.storage.fetch("shared_link", digest=_digest(secret))
        return rows[0] if rows and await self.may_share(rows[0]["owner"]) else None

    async def forget(self, session_id: str) -> None:
        """Delete the links to a deleted chat."""
        await self._host.storage.execute("forget_shared_links", session_id=session_id)

    async def prune(self) -> None:
        """Delete links that expired long ago, and those whose chat was deleted elsewhere."""
        before = self._host.now() - EXPIRED_SECONDS
        await self._host.storage.execute("prune_shared_links", before=before)

    async def _own(self, who: Identity, session_id: str) -> Row:
        row = await self._reader.row(who, session_id)
        if who.channel != CHANNEL or not is_mine(who, (row["channel"], row["chat_id"])):
            raise Problem(403, "forbidden", t("Only the owner of the chat can share it."))
        return row

    def _note(self, who: Identity, link: Row, verdict: str) -> None:
        detail = {"session": link["session_id"], "link": link["id"]}
        note(self._host, "access", "a chat", verdict, detail=detail, actor=who.person)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _as_json(link: Row) -> dict[str, Any]:
    names = ("id", "title", "created", "expires")
    return {"session": link["session_id"], **{name: link[name] for name in names}}
