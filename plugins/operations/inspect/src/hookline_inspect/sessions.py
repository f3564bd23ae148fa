"""``hookline sessions list|show|search|export|delete``."""

from __future__ import annotations

import difflib
import json as jsonlib
import re
import shutil
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NoReturn

from hookline_hookspecs import Host, origins_from_json
from hookline_hookspecs.audit import session_deleted
from hookline_hookspecs.stored_origins import named, strangers

from .output import confirm, out, out_json, stop, table
from .service import inspection
from .traces import forget_session
from .usage import cost, money

FIELDS = ("id", "title", "channel", "chat", "created", "updated", "turns")
LISTED, FOUND = 50, 20
"""How many sessions and messages are shown where nobody says."""
MARGIN = 20
"""How many times more messages are looked at than shown."""
NAME_CHARS, NAME_LEAST = 60, 12
"""Characters of a title that are listed, and of one where the terminal is narrow."""
CANDIDATES = 8
"""Sessions that are named where the beginning of an id means several."""
SHOWN = 160
"""Characters of a found message that are shown."""


@dataclass(frozen=True, slots=True)
class Given:
    """What was said after ``hookline sessions ACTION``."""

    words: list[str]
    limit: int | None
    yes: bool
    json: bool

    def session(self) -> str:
        """The one session that is meant."""
        if len(self.words) != 1:
            stop("name one session by its id. `hookline sessions list` shows all sessions")
        return self.words[0]


def no_session(session_id: str) -> NoReturn:
    """End with the sentence for an id that nothing is stored under."""
    stop(f"there is no session {session_id}. `hookline sessions list` shows all sessions")


def when(seconds: float) -> str:
    """Unix time as a person reads it, in the local time zone."""
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")


async def list_(host: Host, given: Given) -> None:
    """Stored sessions, newest first."""
    if given.words:
        stop("`sessions list` takes no id. Run `hookline sessions show ID` for one session")
    rows = await host.storage.fetch("sessions", limit=given.limit or LISTED)
    if given.json:
        out_json([{field: row[field] for field in FIELDS} for row in rows])
        return
    room = _room(max((len(row["id"]) for row in rows), default=0))
    cells = [[row["id"], called(row, room), row["turns"], when(row["updated"])] for row in rows]
    out(
        table(["id", "title", "turns", "last used"], cells)
        if rows
        else "There are no sessions yet."
    )


async def show(host: Host, given: Given) -> None:
    """What was said in a session."""
    session = await _stored(host, given)
    messages = await _messages(host, session["id"])
    if given.json:
        spent = await money(host, session["id"])
        out_json({**session, "cost": spent, "messages": messages})
        return
    for message in messages:
        for block in message["blocks"]:
            out(f"[{message['role']}{from_others(block)}] {block_text(block)}")
    if told := await cost(host, session["id"]):
        out(f"\n{told}")


async def export(host: Host, given: Given) -> None:
    """Every stored message of a session, one JSON object a line."""
    session = await _stored(host, given)
    for message in await _messages(host, session["id"]):
        out_json(message)


async def search(host: Host, given: Given) -> None:
    """Messages that hold every word, newest first."""
    if not given.words:
        stop("`sessions search` needs the words to search for")
    rows = await _holding(host, " ".join(given.words).casefold().split(), given.limit or FOUND)
    if given.json:
        out_json([dict(row) for row in rows])
        return
    for row in rows:
        text = " ".join(row["text"].split())
        out(f"{row['session_id']}  {when(row['created'])}  [{row['role']}] {text[:SHOWN]}")


async def _holding(host: Host, words: list[str], limit: int) -> list[Mapping[str, Any]]:
    """The database looks for the longest word; letter case is ignored there for ASCII alone."""
    if not words:
        return []
    longest = max(words, key=len)
    masked = longest.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")
    rows = await host.storage.fetch("search", pattern=f"%{masked}%", limit=limit * MARGIN)
    return [r for r in rows if all(word in r["text"].casefold() for word in words)][:limit]


async def delete(host: Host, given: Given) -> None:
    """Delete a session, all that was said in it, and its traces."""
    row = await _stored(host, given)
    session_id = row["id"]
    if not given.yes:
        confirm(f"Delete session {session_id}?")
    await inspection(host).delete_session(session_id)
    await forget_session(host, session_id)
    await session_deleted(host, session_id, row["channel"], row["chat"])
    out(f"Deleted session {session_id}.")


ACTIONS: Mapping[str, Callable[[Host, Given], Awaitable[None]]] = {
    "list": list_,
    "show": show,
    "search": search,
    "export": export,
    "delete": delete,
}
"""The actions by the word that a person writes."""


async def _stored(host: Host, given: Given) -> dict[str, Any]:
    """The ``id title channel chat`` of the session that is meant."""
    row = await the_session(host, given.session())
    return {name: row[name] for name in ("id", "title", "channel", "chat")}


async def the_session(host: Host, named: str) -> Mapping[str, Any]:
    """The session of that id, or the only one whose id begins so; else the command ends."""
    rows = await host.storage.fetch(
        "sessions_called", prefix=named, chars=len(named), limit=CANDIDATES + 1
    )
    if not rows:
        no_session(named)
    if rows[0]["id"] != named and len(rows) > 1:
        lines = [f"  {row['id']}  {when(row['updated'])}  {called(row)}" for row in rows]
        more = ["  …"] if len(rows) > CANDIDATES else []
        several = "\n".join([*lines[:CANDIDATES], *more])
        stop(f"{named} matches several sessions:\n{several}")
    return rows[0]


def called(row: Mapping[str, Any], most: int = NAME_CHARS) -> str:
    """A session's title, else the first words that were said in it, on one line."""
    said = re.sub(r"(?m)^\(attached file .*\)$", "", str(row["first_words"] or ""))
    words = " ".join(str(row["title"] or said).split())
    return words if len(words) <= most else words[: most - 1] + "…"


def _room(id_chars: int) -> int:
    """Characters for a title, so that a line of the list fits the terminal."""
    if not sys.stdout.isatty():
        return NAME_CHARS
    others = id_chars + len("turns") + len("2026-01-01 09:30") + 3 * len("  ")
    return min(NAME_CHARS, max(NAME_LEAST, shutil.get_terminal_size().columns - others))


async def _messages(host: Host, session_id: str) -> list[dict[str, Any]]:
    """The stored messages, oldest first: ``seq turn role blocks created``."""
    rows = await host.storage.fetch("messages", id=session_id)
    return [
        {"seq": row["seq"], "turn": row["turn"], **body(row), "created": row["created"]}
        for row in rows
    ]


def body(row: Mapping[str, Any]) -> dict[str, Any]:
    """A message's ``role`` and ``blocks``; one that cannot be read is given as it is stored."""
    try:
        stored = jsonlib.loads(row["body"])
        if [block_text(block) for block in stored["blocks"]] and isinstance(stored["role"], str):
            return dict(stored)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        pass
    return {"role": "unreadable", "blocks": [{"type": "unreadable", "stored": str(row["body"])}]}


def from_others(block: Mapping[str, Any]) -> str:
    """Where a block came from, unless the operator or the agent itself wrote it."""
    try:
        others = strangers(origins_from_json(block.get("origins")))
    except (ValueError, TypeError):
        return ", from what cannot be read"
    return f", from {named(others)}" if others else ""


def block_text(block: Mapping[str, Any]) -> str:
    """A block of a message as text."""
    if block["type"] == "unreadable":
        return f"this message cannot be read; it is stored as: {block['stored'][:SHOWN]}"
    if block["type"] == "tool_call":
        return f"→ {block['name']} {jsonlib.dumps(block['arguments'], ensure_ascii=False)}"
    if block["type"] == "tool_result":
        return f"← {block['text']}"
    return str(block.get("text") or f"({block['type']})")


def action(name: str) -> str:
    """Return the name of an action; end the command where there is none of that name."""
    if name not in ACTIONS:
        near = difflib.get_close_matches(name, ACTIONS, 1)
        hint = f"Did you mean {near[0]}?" if near else f"Use one of {', '.join(ACTIONS)}."
        stop(f"unknown action {name}. {hint}")
    return name
