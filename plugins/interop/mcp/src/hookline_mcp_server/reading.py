"""Sessions, their messages and new ones, a page at a time, as JSON.

A cursor is an opaque text for the caller; one that was not given out is refused with a sentence.
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

PAGE, MOST = 50, 200
"""Entries of an answer where nobody says, and at most."""
ROOM = 40_000
"""Characters of the texts of an answer; the rest comes with the next cursor."""
WAIT, LONGEST = 20.0, 50.0
"""Seconds for which events are waited for where nobody says, and at most: clients give up after
60."""
EVERY = 0.5
"""Seconds between two looks at the store."""
SETTLED = 0.25
"""Seconds after which no older message comes any more."""
_FAR = 1e15


class Reader:
    """Reads what the store has of the chats that callers may see.

    Args:
        host: the plugin's host.
        chats: patterns of ``channel:chat``.
    """

    def __init__(self, host: Host, chats: Sequence[str]) -> None:
        self._host = host
        self._chats = chats

    @property
    def sees_all(self) -> bool:
        """Whether callers may see every chat."""
        return "*" in self._chats

    def sees(self, channel: str, chat_id: str) -> bool:
        """Return whether callers may see a chat."""
        return any(fnmatchcase(f"{channel}:{chat_id}", pattern) for pattern in self._chats)

    async def session(self, session_id: str) -> Row:
        """Return the row of a session. Raises ``ToolError`` if there is none that may be seen."""
        rows = await self._host.storage.fetch("session", id=session_id)
        if not rows or not self.sees(rows[0]["channel"], rows[0]["chat_id"]):
            raise ToolError(
                f"there is no session {session_id[:80]!r}; sessions_list shows those there are"
            )
        return rows[0]

    async def sessions(self, cursor: str | None, limit: int) -> dict[str, Any]:
        """Return conversations, the last used first."""
        updated, session_id = _FAR, ""
        if cursor:
            updated, (session_id,) = _parsed(cursor, 1)
        found: list[dict[str, Any]] = []
        limit, after = _limit(limit), ""
        while True:
            asked: dict[str, Any] = {"updated": updated, "id": session_id, "most": MOST}
            rows = await self._host.storage.fetch("sessions", **asked)
            for row in rows:
                if len(found) == limit:
                    return {"sessions": found, "next_cursor": after}
                updated, session_id = row["updated"], row["id"]
                if self.sees(row["channel"], row["chat_id"]):
                    found.append(_session(row))
                    after = f"{updated!r}~{session_id}"
            if len(rows) < MOST:
                return {"sessions": found, "next_cursor": None}

    async def messages(self, session_id: str, cursor: str | None, limit: int) -> dict[str, Any]:
        """Return messages of a session, the oldest first; a long one in parts."""
        row = await self.session(session_id)
        seq, skip = _place(cursor) if cursor else (0, 0)
        limit, room = _limit(limit), ROOM
        rows = await self._host.storage.fetch("messages", id=row["id"], seq=seq, most=limit + 1)
        found: list[dict[str, Any]] = []
        following = None
        for message in rows:
            start = skip if message["seq"] == seq else 0
            if len(found) == limit or room <= 0:
                following = f"{message['seq']}.0"
                break
            told, text = _message(message), _text(message)
            told["text"] = fitting(text[start:], room)
            room -= spent(told["text"])
            found.append(told)
            if start + len(told["text"]) < len(text):
                following = f"{message['seq']}.{start + len(told['text'])}"
                told["continued"] = True
                break
        return {"session": row["id"], "messages": found, "next_cursor": following}

    async def events(self, cursor: str | None, limit: int) -> dict[str, Any]:
        """Return messages that are newer than the cursor, and the next one; without a cursor none,
        and one that means now."""
        now = self._host.now()
        if not cursor:
            return {"events": [], "cursor": f"{now!r}~0~"}
        since, (seq, session_id) = _parsed(cursor, 2)
        if not (seq.isascii() and seq.isdecimal() and len(seq) < 16):
            raise _no_cursor(cursor)
        rows = await self._host.storage.fetch(
            "events",
            since=since,
            until=now - SETTLED,
            id=session_id,
            seq=int(seq),
            most=_limit(limit),
        )
        found: list[dict[str, Any]] = []
        room = ROOM
        for row in rows:
            text = _text(row)
            if found and room < spent(text):
                break
            cursor = f"{row['created']!r}~{row['seq']}~{row['session_id']}"
            if not self.sees(row["channel"], row["chat_id"]):
                continue
            told = {"type": "message", "session": row["session_id"], **_message(row)}
            told["chat"] = f"{row['channel']}:{row['chat_id']}"
            told["text"] = fitting(text, room)
            if len(told["text"]) < len(text):
                told["continued"] = True
            room -= spent(told["text"])
            found.append(told)
        return {"events": found, "cursor": cursor}

    async def wait(
        self, cursor: str | None, limit: int, seconds: float, more: Any
    ) -> dict[str, Any]:
        """Return new events as soon as there are any, or none after ``seconds``. ``more()`` returns
        events of this process."""
        if not math.isfinite(seconds) or seconds < 0:
            raise ToolError(f"seconds is 0 to {LONGEST:g}")
        until = asyncio.get_running_loop().time() + min(seconds, LONGEST)
        while True:
            found = await self.events(cursor, limit)
            found["events"] += more()
            if not cursor or found["events"] or asyncio.get_running_loop().time() >= until:
                return found
            cursor = found["cursor"]
            await asyncio.sleep(EVERY)


def spent(text: str) -> int:
    """Return how many characters a message takes in an answer, as JSON with what is said of it."""
    return len(json.dumps(text, ensure_ascii=False)) + 250


def fitting(text: str, room: int) -> str:
    """Return the beginning of ``text`` that takes at most ``room`` characters as JSON; never
    nothing of one."""
    piece = text[: max(room, 1)]
    while len(piece) > 1 and (size := len(json.dumps(piece, ensure_ascii=False))) > room + 2:
        piece = piece[: max(1, min(len(piece) - 1, len(piece) * room // size))]
    return piece


def _limit(limit: int) -> int:
    if limit < 1:
        raise ToolError(f"limit is 1 to {MOST}")
    return min(limit, MOST)


def _no_cursor(cursor: str) -> ToolError:
    return ToolError(
        f"{cursor[:80]!r} is no cursor; give the one of the last answer, or none to begin anew"
    )


def _parsed(cursor: str, names: int) -> tuple[float, list[str]]:
    """A cursor's time and what follows it."""
    number, *rest = cursor.split("~", names)
    try:
        moment = float(number)
    except ValueError:
        raise _no_cursor(cursor) from None
    if len(rest) != names or not math.isfinite(moment) or len(cursor) > 400:
        raise _no_cursor(cursor)
    return moment, rest


def _place(cursor: str) -> tuple[int, int]:
    seq, _, skip = cursor.partition(".")
    numbers = [int(one) for one in (seq, skip) if one.isascii() and one.isdecimal()]
    if len(numbers) != 2 or len(cursor) > 30:
        raise _no_cursor(cursor)
    return min(numbers[0], 2**62), numbers[1]


def _session(row: Row) -> dict[str, Any]:
    told = {name: row[name] for name in ("id", "title", "created", "updated", "turns")}
    return told | {"chat": f"{row['channel']}:{row['chat_id']}"}


def _message(row: Row) -> dict[str, Any]:
    told = {name: row[name] for name in ("seq", "role", "created")}
    if origins := _from(row):
        told["from"] = origins
    return told


def _blocks(row: Row) -> list[Mapping[str, Any]]:
    try:
        blocks = json.loads(row["body"])["blocks"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return [{"text": row["text"]}]
    return [one for one in blocks if isinstance(one, dict)]


def _from(row: Row) -> str:
    """Who wrote it and what it was read from, unless the operator or the agent itself did."""
    try:
        origins = [one for block in _blocks(row) for one in block.get("origins") or ()]
        return named(strangers(origins_from_json(origins)))
    except (ValueError, TypeError):
        return "what cannot be read"


def _text(row: Row) -> str:
    """A message as text, with its tool calls and their results; without thoughts and pictures."""
    return "\n".join(filter(None, map(_shown, _blocks(row))))


def _shown(block: Mapping[str, Any]) -> str:
    kind = block.get("type")
    if kind == "tool_call":
        arguments = json.dumps(block.get("arguments"), ensure_ascii=False)
        return f"→ {block.get('name')} {arguments}"
    if kind == "tool_result":
        return f"← {block.get('text')}"
    if kind in (None, "text"):
        return str(block.get("text") or "")
    return "" if kind == "thinking" else f"({kind})"
