"""Which session a request belongs to, without the client's help where that is possible."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from secrets import token_hex

from hookline_hookspecs import Conversations, Host, Inspection, Message, Origin, Session, TextBlock
from hookline_hookspecs.web import SessionBranches

from .asked import Asked, Said
from .errors import ApiError, bad
from .keys import CHANNEL
from .run import Run

HEADER = "X-Hookline-Session"
LONGEST = 200
"""Characters of a session's name."""


@dataclass(frozen=True, slots=True)
class Found:
    """A session; ``is_new`` if nobody has used it before."""

    id: str
    is_new: bool


class SessionFinder:
    """Finds and makes the sessions of API clients.

    Args:
        host: the plugin's host.
        headers: those in which clients name their chat.
        keep_seconds: how long a chat is known by its messages.
    """

    def __init__(self, host: Host, headers: Sequence[str], keep_seconds: float) -> None:
        self._host = host
        self._headers = headers
        self._keep = keep_seconds

    async def find(
        self, owner: str, headers: Mapping[str, str], asked: Asked, previous: str | None
    ) -> Found:
        """Return the session of a request; ``previous`` is the one of ``previous_response_id``.

        Raises ``ApiError``: 404 for a session of somebody else, 400 for what is no name.
        """
        if (name := headers.get(HEADER)) is not None:
            return await self.named(owner, name, HEADER)
        for header in self._headers:
            if value := headers.get(header, "").strip():
                return await self._own(owner, f"chat-{_short(owner, header.lower(), value)}")
        if previous is not None:
            return Found(previous, False)
        if asked.conversation is not None:
            return await self.named(owner, asked.conversation, "conversation")
        if asked.head:
            since = self._host.now() - self._keep
            rows = await self._host.storage.fetch(
                "session_at", owner=owner, head=asked.head, since=since
            )
            if rows:
                return Found(rows[0]["id"], False)
        return await self._own(owner, f"api-{token_hex(6)}")

    async def after(self, owner: str, run: Run) -> str:
        """Return the session in which a client goes on from a response that is over: its own, or a
        copy that ends with it if the conversation has gone on since. Raises ``StoreError``."""
        turn = run.end.get("turn") if run.end is not None else ""
        rows = turn and await self._host.storage.fetch(
            "turn_place", turn=turn, session_id=run.session_id
        )
        if not rows or not rows[0]["older"]:  # a command, a turn that was undone, the newest one
            return run.session_id
        found = await self._own(owner, f"api-{token_hex(6)}")
        chat, before = (CHANNEL, owner), rows[0]["seq"] + 1
        await self._host.services[SessionBranches].copy(rows[0]["id"], found.id, chat, before)
        return found.id

    async def named(self, owner: str, name: str, where: str) -> Found:
        """Return the session of this name, made if nobody has one."""
        name = _stem(name.strip())
        is_plain = name.isascii() and name.isprintable() and "/" not in name
        if not (0 < len(name) <= LONGEST and is_plain):  # it is sent back in a header
            raise bad(
                f"{where}: a session's name is 1 to {LONGEST} printable ASCII characters without a "
                "slash.",
                where,
            )
        return await self._own(owner, name, where)

    async def _own(self, owner: str, session_id: str, where: str | None = None) -> Found:
        rows = await self._host.storage.fetch("session_owner", id=session_id)
        is_new = not rows
        if is_new:
            if await self._host.services[Inspection].prompt(session_id) is not None:
                raise self._missing(session_id, where)
            await self._host.storage.execute(
                "add_session", id=session_id, owner=owner, now=self._host.now()
            )
            rows = await self._host.storage.fetch("session_owner", id=session_id)
        if not rows or rows[0]["owner"] != owner:
            raise self._missing(session_id, where)
        return Found(session_id, is_new)

    @staticmethod
    def _missing(session_id: str, where: str | None) -> ApiError:
        return ApiError(
            404, f"There is no session {session_id!r} of this key.", "session_not_found", where
        )

    async def bring(self, owner: str, found: Found, history: Sequence[Said]) -> None:
        """Begin a new session with what the client has said before. Raises ``StoreError``."""
        person = Origin("person", f"{CHANNEL}:{owner}")
        messages = [made for said in history if (made := _message(said, person)) is not None]
        if not messages:
            return
        session = Session(found.id, CHANNEL, owner, None, self._host.now())
        await self._host.services[Conversations].begin(session, messages)


def _message(said: Said, person: Origin) -> Message | None:
    """A message of the client's history; the client vouches for all of it."""
    text = said.content.text.strip()
    names = [f"(attached file: {one.name})" for one in said.content.files]
    text = "\n\n".join([*([text] if text else []), *names])
    if not text or said.is_tool:
        return None
    return Message(said.role, (TextBlock(text, (person,)),))


def _short(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _stem(name: str) -> str:
    """The name of which ``NAME~2`` is a successor."""
    before, _, number = name.rpartition("~")
    return before if before and number.isdigit() else name
