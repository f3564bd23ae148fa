"""Grants: what a person has allowed without being asked again, and the table that keeps them.

A grant is bound to one chat, one person and exactly one call: the tool, its arguments, the
workspace, since the same relative path means something else in another folder, and the content of
the files that it runs or sends.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from hookline_hookspecs import Host, Question, Session, ToolCall, Turn
from hookline_hookspecs.bound_files import BoundFile
from hookline_hookspecs.questions import ALLOW_ALWAYS, ALLOW_SESSION

MAX_SHOWN_CHARS = 500
"""Characters kept of what the person saw, for the list of grants."""


@dataclass(frozen=True, slots=True)
class GrantScope:
    """For whom a turn works: the chat, the person, and the session that the person is in.

    A sub-agent works in the scope of the turn that sent it. ``person`` is empty where nobody is
    known, as in scheduled work. ``named`` is the session that the person's message named, where
    one chat has several conversations.
    """

    channel: str
    chat_id: str
    person: str
    session_id: str
    session_created: float
    named: str | None = None

    @classmethod
    def of(cls, turn: Turn) -> GrantScope:
        """The scope of a turn that a message began."""
        session, inbound = turn.session, turn.inbound
        named = inbound.session_id if session.kind == "chat" else None
        return cls(
            inbound.channel, inbound.chat_id, inbound.user_id, session.id, session.created, named
        )

    @property
    def chat(self) -> tuple[str, str]:
        """The chat: channel and chat id."""
        return self.channel, self.chat_id


@dataclass(frozen=True, slots=True)
class Grant:
    """A grant as it is listed. ``choice`` is its scope's label; ``shown`` is the beginning of what
    the person saw; ``granted`` is Unix time in seconds."""

    number: int
    channel: str
    chat_id: str
    person: str
    choice: str
    tool: str
    shown: str
    granted: float


def fingerprint(call: ToolCall, workspace: str, files: Sequence[BoundFile] = ()) -> str | None:
    """SHA-256 of the call as it would run; None if its arguments cannot be written down exactly."""
    used = {file.path: file.digest for file in files if file.digest and not file.is_written}
    try:
        text = json.dumps([call.name, call.arguments, workspace, used], sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        return None
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Grants:
    """The stored grants."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def find(self, scope: GrantScope, digest: str) -> str | None:
        """The choice that allows the call with this fingerprint, or None."""
        rows = await self._host.storage.fetch(
            "find_grant",
            channel=scope.channel,
            chat_id=scope.chat_id,
            person=scope.person,
            fingerprint=digest,
            session_id=scope.session_id,
            session_created=scope.session_created,
        )
        return (ALLOW_SESSION if rows[0]["session_id"] else ALLOW_ALWAYS) if rows else None

    async def add(self, scope: GrantScope, digest: str, question: Question, choice: str) -> None:
        """Remember that a person chose ``choice``."""
        session = choice == ALLOW_SESSION
        await self._host.storage.execute(
            "add_grant",
            channel=scope.channel,
            chat_id=scope.chat_id,
            person=scope.person,
            fingerprint=digest,
            session_id=scope.session_id if session else "",
            session_created=scope.session_created if session else 0.0,
            tool=question.call.name if question.call else "",
            shown=question.preview[:MAX_SHOWN_CHARS],
            granted=self._host.now(),
        )

    async def all(self) -> Sequence[Grant]:
        """Every grant, by number."""
        return [
            Grant(
                row["number"],
                row["channel"],
                row["chat_id"],
                row["person"],
                ALLOW_SESSION if row["session_id"] else ALLOW_ALWAYS,
                row["tool"],
                row["shown"],
                row["granted"],
            )
            for row in await self._host.storage.fetch("all_grants")
        ]

    async def revoke(self, number: int) -> None:
        """Take a grant back."""
        await self._host.storage.execute("revoke_grant", number=number)

    async def copy_session(self, session: Session, copy: Session) -> None:
        """Let what was granted for a session of a chat also count in a copy of it."""
        await self._host.storage.execute(
            "copy_session_grants",
            session_id=session.id,
            session_created=session.created,
            channel=copy.channel,
            chat_id=copy.chat_id,
            new=copy.id,
            created=copy.created,
        )

    async def end_session(self, session_id: str) -> None:
        """Forget what was granted for a session."""
        await self._host.storage.execute("end_session_grants", session_id=session_id)
