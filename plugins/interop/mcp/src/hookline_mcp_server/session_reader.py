"""Reads sessions, messages and new messages in pages.

Cursors are opaque to callers; invalid ones are refused.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from hookline_hookspecs import Host, ToolError, origins_from_json
from hookline_hookspecs.storage import Row
from hookline_hookspecs.stored_origins import named, strangers

DEFAULT_PAGE, MAX_PAGE = 50, 200
"""Entries of an answer: default and limit."""
MAX_TEXTS_CHARS = 40_000
"""Characters of all texts in an answer; the rest follows with the next cursor."""
DEFAULT_WAIT, MAX_WAIT = 20.0, 50.0
"""Seconds to wait for events: default and limit. Clients time out after 60."""
POLL_INTERVAL = 0.5
"""Seconds between two queries of the store."""
SETTLE_SECONDS = 0.25
"""Seconds after which no earlier message is stored any more."""
LATEST = 1e15


class SessionReader:
    """Reads the sessions of chats that callers may see.

    Args:
        host: the plugin's host.
        chats: patterns of ``channel:chat``.
    """

    def __init__(self, host: Host, chats: Sequence[str]) -> None:
        self._host = host
        self._chats = chats

    @property
    def sees_all(self) -> bool:
        """True if callers may see every chat."""
        return "*" in self._chats

    def sees(self, channel: str, chat_id: str) -> bool:
        """Return whether callers may see a chat."""
        return any(fnmatchcase(f"{channel}:{chat_id}", pattern) for pattern in self._chats)

    async def session(self, session_id: str) -> Row:
        """Return the row of a session. Raises ``ToolError`` if it is unknown or hidden."""
        rows = await self._host.storage.fetch("session", id=session_id)
        if not rows or not self.sees(rows[0]["channel"], rows[0]["chat_id"]):
            raise ToolError(
                f"unknown session {session_id[:80]!r}. Use sessions_list to list sessions"
            )
        return rows[0]

    async def sessions(self, cursor: str | None, limit: int) -> dict[str, Any]:
        """Return conversations, most recently used first."""
        updated = LATEST
        session_id = ""
        if cursor:
            updated, (session_id,) = _parse_cursor(cursor, 1)
        found: list[dict[str, Any]] = []
        limit = _limit(limit)
        after = ""
        while True:
            asked: dict[str, Any] = {"updated": updated, "id": session_id, "most": MAX_PAGE}
            rows = await self._host.storage.fetch("sessions", **asked)
            for row in rows:
                if len(found) == limit:
                    return {"sessions": found, "next_cursor": after}
                updated = row["updated"]
                session_id = row["id"]
                if self.sees(row["channel"], row["chat_id"]):
                    found.append(_session_row(row))
                    after = f"{updated!r}~{session_id}"
            if len(rows) < MAX_PAGE:
                return {"sessions": found, "next_cursor": None}

    async def messages(self, session_id: str, cursor: str | None, limit: int) -> dict[str, Any]:
        """Return messages of a session, oldest first; long messages in parts."""
        row = await self.session(session_id)
        seq, skip = _parse_position(cursor) if cursor else (0, 0)
        limit = _limit(limit)
        room = MAX_TEXTS_CHARS
        rows = await self._host.storage.fetch("messages", id=row["id"], seq=seq, most=limit + 1)
        found: list[dict[str, Any]] = []
        following = None
        for message in rows:
            start = skip if message["seq"] == seq else 0
            if len(found) == limit or room <= 0:
                following = f"{message['seq']}.0"
                break
            entry = _message_row(message)
            text = _message_text(message)
            entry["text"] = truncate(text[start:], room)
            room -= json_size(entry["text"])
            found.append(entry)
            if start + len(entry["text"]) < len(text):
                following = f"{message['seq']}.{start + len(entry['text'])}"
                entry["continued"] = True
                break
        return {"session": row["id"], "messages": found, "next_cursor": following}

    async def events(self, cursor: str | None, limit: int) -> dict[str, Any]:
        """Return messages newer than the cursor, and the next cursor; without a cursor, no messages
        and a cursor that means now."""
        now = self._host.now()
        if not cursor:
            return {"events": [], "cursor": f"{now!r}~0~"}
        since, (seq, session_id) = _parse_cursor(cursor, 2)
        if not (seq.isascii() and seq.isdecimal() and len(seq) < 16):
            raise _invalid_cursor(cursor)
        rows = await self._host.storage.fetch(
            "events",
            since=since,
            until=now - SETTLE_SECONDS,
            id=session_id,
            seq=int(seq),
            most=_limit(limit),
        )
        found: list[dict[str, Any]] = []
        room = MAX_TEXTS_CHARS
        for row in rows:
            text = _message_text(row)
            if found and room < json_size(text):
                break
            cursor = f"{row['created']!r}~{row['seq']}~{row['session_id']}"
            if not self.sees(row["channel"], row["chat_id"]):
                continue
            event = {"type": "message", "session": row["session_id"], **_message_row(row)}
            event["chat"] = f"{row['channel']}:{row['chat_id']}"
            event["text"] = truncate(text, room)
            if len(event["text"]) < len(text):
                event["continued"] = True
            room -= json_size(event["text"])
            found.append(event)
        return {"events": found, "cursor": cursor}

    async def wait(
        self, cursor: str | None, limit: int, seconds: float, more: Any
    ) -> dict[str, Any]:
        """Return new events as soon as there are any, or none after ``seconds``.

        ``more()`` returns further events of this process.
        """
        if not math.isfinite(seconds) or seconds < 0:
            raise ToolError(f"seconds must be 0 to {MAX_WAIT:g}")
        until = asyncio.get_running_loop().time() + min(seconds, MAX_WAIT)
        while True:
            found = await self.events(cursor, limit)
            found["events"] += more()
            if not cursor or found["events"] or asyncio.get_running_loop().time() >= until:
                return found
            cursor = found["cursor"]
            await asyncio.sleep(POLL_INTERVAL)


def json_size(text: str) -> int:
    """Return how many characters a message takes in an answer, with its other fields."""
    return len(json.dumps(text, ensure_ascii=False)) + 250


def truncate(text: str, room: int) -> str:
    """Return the beginning of ``text`` that takes at most ``room`` characters as JSON, and at least
    one character."""
    piece = text[: max(room, 1)]
    while len(piece) > 1 and (size := len(json.dumps(piece, ensure_ascii=False))) > room + 2:
        piece = piece[: max(1, min(len(piece) - 1, len(piece) * room // size))]
    return piece


def _limit(limit: int) -> int:
    if limit < 1:
        raise ToolError(f"limit must be 1 to {MAX_PAGE}")
    return min(limit, MAX_PAGE)


def _invalid_cursor(cursor: str) -> ToolError:
    return ToolError(
        f"invalid cursor {cursor[:80]!r}; use the cursor of the last answer, or none to start over"
    )


def _parse_cursor(cursor: str, names: int) -> tuple[float, list[str]]:
    """Return a cursor's time and the ``names`` parts after it."""
    number, *rest = cursor.split("~", names)
    try:
        moment = float(number)
    except ValueError:
        raise _invalid_cursor(cursor) from None
    if len(rest) != names or not math.isfinite(moment) or len(cursor) > 400:
        raise _invalid_cursor(cursor)
    return moment, rest


def _parse_position(cursor: str) -> tuple[int, int]:
    seq, _, skip = cursor.partition(".")
    numbers = [int(one) for one in (seq, skip) if one.isascii() and one.isdecimal()]
    if len(numbers) != 2 or len(cursor) > 30:
        raise _invalid_cursor(cursor)
    return min(numbers[0], 2**62), numbers[1]


def _session_row(row: Row) -> dict[str, Any]:
    entry = {name: row[name] for name in ("id", "title", "created", "updated", "turns")}
    return entry | {"chat": f"{row['channel']}:{row['chat_id']}"}


def _message_row(row: Row) -> dict[str, Any]:
    entry = {name: row[name] for name in ("seq", "role", "created")}
    if origins := _named_origins(row):
        entry["from"] = origins
    return entry


def _message_blocks(row: Row) -> list[Mapping[str, Any]]:
    try:
        blocks = json.loads(row["body"])["blocks"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return [{"text": row["text"]}]
    return [one for one in blocks if isinstance(one, dict)]


def _named_origins(row: Row) -> str:
    """Who wrote the message and where its content is from; empty for operator and agent."""
    try:
        origins = [one for block in _message_blocks(row) for one in block.get("origins") or ()]
        return named(strangers(origins_from_json(origins)))
    except (ValueError, TypeError):
        return "unreadable origins"


def _message_text(row: Row) -> str:
    """A message as text, with tool calls and results, without thinking and images."""
    return "\n".join(filter(None, map(_block_text, _message_blocks(row))))


def _block_text(block: Mapping[str, Any]) -> str:
    kind = block.get("type")
    if kind == "tool_call":
        arguments = json.dumps(block.get("arguments"), ensure_ascii=False)
        return f"→ {block.get('name')} {arguments}"
    if kind == "tool_result":
        return f"← {block.get('text')}"
    if kind in (None, "text"):
        return str(block.get("text") or "")
    return "" if kind == "thinking" else f"({kind})"
