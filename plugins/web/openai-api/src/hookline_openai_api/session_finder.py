"""Finds the session that a request belongs to, even if the client does not name it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from secrets import token_hex

from hookline_hookspecs import (
    Conversations,
    Host,
    Inspection,
    Message,
    Origin,
    Session,
    SessionBranches,
    TextBlock,
    merge_origins,
)

from .api_request import ApiRequest, ClientMessage
from .api_run import ApiRun
from .errors import ApiError, invalid_request
from .keys import CHANNEL

HEADER = "X-Hookline-Session"
UNKNOWN_ANSWER = Origin("outside", "an answer that only the client's copy of the chat has")
MAX_NAME_CHARS = 200
"""Characters of a session's name."""


@dataclass(frozen=True, slots=True)
class FoundSession:
    """A session; ``is_new`` if it has not been used before."""

    id: str
    is_new: bool


class SessionFinder:
    """Finds and creates the sessions of API clients.

    Args:
        host: the plugin's host.
        headers: headers in which clients send the id of their chat.
        keep_seconds: how long a chat is recognized by its messages.
    """

    def __init__(self, host: Host, headers: Sequence[str], keep_seconds: float) -> None:
        self._host = host
        self._headers = headers
        self._keep = keep_seconds

    async def find(
        self, owner: str, headers: Mapping[str, str], api_request: ApiRequest, previous: str | None
    ) -> FoundSession:
        """Return the session of a request; ``previous`` is the one of ``previous_response_id``.

        Raises ``ApiError``: 404 for a session of another key, 400 for an invalid name.
        """
        if (name := headers.get(HEADER)) is not None:
            return await self.by_name(owner, name, HEADER)
        for header in self._headers:
            if value := headers.get(header, "").strip():
                return await self._claim(owner, f"chat-{_hash(owner, header.lower(), value)}")
        if previous is not None:
            return FoundSession(previous, False)
        if api_request.conversation is not None:
            return await self.by_name(owner, api_request.conversation, "conversation")
        if api_request.head:
            since = self._host.now() - self._keep
            rows = await self._host.storage.fetch(
                "session_at", owner=owner, head=api_request.head, since=since
            )
            if rows:
                return FoundSession(rows[0]["id"], False)
        return await self._claim(owner, f"api-{token_hex(6)}")

    async def after(self, owner: str, run: ApiRun) -> str:
        """Return the session that continues after a finished response.

        That is its own, or a copy up to there if the conversation continued since. Raises
        ``StoreError``.
        """
        turn = run.end.get("turn") if run.end is not None else ""
        rows = turn and await self._host.storage.fetch(
            "turn_place", turn=turn, session_id=run.session_id
        )
        if not rows or not rows[0]["older"]:  # a command, an undone turn, or the newest one
            return run.session_id
        found = await self._claim(owner, f"api-{token_hex(6)}")
        chat = (CHANNEL, owner)
        before = rows[0]["seq"] + 1
        await self._host.services[SessionBranches].copy(rows[0]["id"], found.id, chat, before)
        return found.id

    async def by_name(self, owner: str, name: str, where: str) -> FoundSession:
        """Return the session of this name; create it if it does not exist."""
        name = _base_name(name.strip())
        is_plain = name.isascii() and name.isprintable() and "/" not in name
        if not (0 < len(name) <= MAX_NAME_CHARS and is_plain):  # it is returned in a header
            raise invalid_request(
                f"{where}: a session name must have 1 to {MAX_NAME_CHARS} printable ASCII "
                "characters and no slash.",
                where,
            )
        return await self._claim(owner, name, where)

    async def _claim(self, owner: str, session_id: str, where: str | None = None) -> FoundSession:
        rows = await self._host.storage.fetch("session_owner", id=session_id)
        is_new = not rows
        if is_new:
            if await self._host.services[Inspection].prompt(session_id) is not None:
                raise self._not_found(session_id, where)
            await self._host.storage.execute(
                "add_session", id=session_id, owner=owner, now=self._host.now()
            )
            rows = await self._host.storage.fetch("session_owner", id=session_id)
        if not rows or rows[0]["owner"] != owner:
            raise self._not_found(session_id, where)
        return FoundSession(session_id, is_new)

    @staticmethod
    def _not_found(session_id: str, where: str | None) -> ApiError:
        return ApiError(404, f"This key has no session {session_id!r}.", "session_not_found", where)

    async def import_history(
        self, owner: str, found: FoundSession, history: Sequence[ClientMessage]
    ) -> None:
        """Start a new session with the client's earlier messages. Raises ``StoreError``.

        What the client says the agent has answered is from outside, unless the agent did answer it:
        it then has the origins of the chat in which it did.
        """
        person = (Origin("person", f"{CHANNEL}:{owner}"),)
        texts = [(message.role, text) for message in history if (text := _text(message))]
        answers = {text for role, text in texts if role == "assistant"}
        known = await self._answer_origins(owner, answers) if answers else {}
        messages = []
        for role, text in texts:
            origins = person if role == "user" else known.get(text, (UNKNOWN_ANSWER,))
            messages.append(Message(role, (TextBlock(text, origins),)))
        if not messages:
            return
        session = Session(found.id, CHANNEL, owner, None, self._host.now())
        await self._host.services[Conversations].begin(session, messages)

    async def _answer_origins(
        self, owner: str, answers: Collection[str]
    ) -> dict[str, tuple[Origin, ...]]:
        """Return the origins of the answers that the agent did give to this client.

        Those are the origins of every chat of the client with that answer, up to there.
        """
        found: dict[str, tuple[Origin, ...]] = {}
        read: dict[str, list[tuple[int, Message]]] = {}
        for place in await self._host.storage.fetch("answers", owner=owner):
            if (text := place["text"].strip()) not in answers:
                continue
            if (id_ := place["id"]) not in read:
                rows = await self._host.storage.fetch("bodies", id=id_)
                bodies = [(row["seq"], json.loads(row["body"])) for row in rows]
                read[id_] = [(seq, Message.from_dict(body)) for seq, body in bodies]
            before = [message.origins for seq, message in read[id_] if seq <= place["seq"]]
            found[text] = merge_origins(found.get(text, ()), *before)
        return found


def _text(message: ClientMessage) -> str:
    """Return the text of a message of the client's history; empty for one that is left out."""
    text = message.content.text.strip()
    names = [f"(attached file: {one.name})" for one in message.content.files]
    text = "\n\n".join([*([text] if text else []), *names])
    return "" if message.is_tool else text


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _base_name(name: str) -> str:
    """Return ``NAME`` for its successor ``NAME~2``."""
    before, _, number = name.rpartition("~")
    return before if before and number.isdigit() else name
