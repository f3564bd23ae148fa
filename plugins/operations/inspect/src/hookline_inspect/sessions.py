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

from hookline_hookspecs import Host, Inspection, origins_from_json
from hookline_hookspecs.audit import session_deleted
from hookline_hookspecs.stored_origins import named, strangers
from hookline_hookspecs.visible_text import spell_out

from .output import confirm, exit_with_error, print_json, print_text, table
from .traces import forget_session
from .usage import cost, money

SESSION_FIELDS = ("id", "title", "channel", "chat", "created", "updated", "turns")
DEFAULT_LIST_LIMIT, DEFAULT_SEARCH_LIMIT = 50, 20
"""How many sessions and messages are shown without ``--limit``."""
SEARCH_FACTOR = 20
"""How many times more messages are read than shown: the database matches one word only."""
MAX_NAME_CHARS, MIN_NAME_CHARS = 60, 12
"""Characters of a session's name in the list, on a wide and on a narrow terminal."""
MAX_CANDIDATES = 8
"""Sessions that the error lists if an id prefix matches several."""
MAX_SNIPPET_CHARS = 160
"""Characters of a matching message that are shown."""


@dataclass(frozen=True, slots=True)
class SessionArguments:
    """The arguments of ``hookline sessions ACTION``."""

    words: list[str]
    limit: int | None
    yes: bool
    json: bool

    def session(self) -> str:
        """The id of the one session that was given."""
        if len(self.words) != 1:
            exit_with_error(
                "name one session by its id. `hookline sessions list` shows all sessions"
            )
        return self.words[0]


def exit_unknown_session(session_id: str) -> NoReturn:
    """End the command with an error about an unknown session."""
    exit_with_error(f"unknown session {session_id}. `hookline sessions list` shows all sessions")


def local_time(seconds: float) -> str:
    """A Unix time as text, in the local time zone."""
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")


async def list_(host: Host, arguments: SessionArguments) -> None:
    """Print the stored sessions, newest first."""
    if arguments.words:
        exit_with_error(
            "`sessions list` takes no id. Run `hookline sessions show ID` for one session"
        )
    rows = await host.storage.fetch("sessions", limit=arguments.limit or DEFAULT_LIST_LIMIT)
    if arguments.json:
        print_json([{field: row[field] for field in SESSION_FIELDS} for row in rows])
        return
    room = _name_chars(max((len(row["id"]) for row in rows), default=0))
    cells = [
        [row["id"], session_name(row, room), row["turns"], local_time(row["updated"])]
        for row in rows
    ]
    print_text(table(["id", "title", "turns", "last used"], cells) if rows else "No sessions yet.")


NO_ANSWER = "(no answer)"
"""Core's text for the answer of a turn that failed before the model said anything."""


async def show(host: Host, arguments: SessionArguments) -> None:
    """Print the messages of a session, and what it cost."""
    session = await _session_row(host, arguments)
    messages = await stored_messages(host, session["id"])
    if arguments.json:
        spent = await money(host, session["id"])
        print_json({**session, "cost": spent, "messages": messages})
        return
    for message in messages:
        for block in shown_blocks(message):
            # Only the program's own lines begin in the first column.
            text = block_text(block).replace("\n", "\n  ")
            print_text(f"[{message['role']}{from_others(block)}] {text}")
    if cost_text := await cost(host, session["id"]):
        print_text(f"\n{cost_text}")


async def export(host: Host, arguments: SessionArguments) -> None:
    """Print every stored message of a session, one JSON object per line."""
    session = await _session_row(host, arguments)
    for message in await stored_messages(host, session["id"]):
        print_json(message)


async def search(host: Host, arguments: SessionArguments) -> None:
    """Print the messages that contain every word, newest first."""
    if not arguments.words:
        exit_with_error("`sessions search` needs the words to search for")
    rows = await _matching(
        host, " ".join(arguments.words).casefold().split(), arguments.limit or DEFAULT_SEARCH_LIMIT
    )
    if arguments.json:
        print_json([dict(row) for row in rows])
        return
    for row in rows:
        text = " ".join(row["text"].split())
        print_text(
            f"{row['session_id']}  {local_time(row['created'])}  "
            f"[{row['role']}] {text[:MAX_SNIPPET_CHARS]}"
        )


async def _matching(host: Host, words: list[str], limit: int) -> list[Mapping[str, Any]]:
    """Messages that contain every word. The database searches for the longest word only."""
    if not words:
        return []
    longest = max(words, key=len)
    escaped = longest.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")
    rows = await host.storage.fetch("search", pattern=f"%{escaped}%", limit=limit * SEARCH_FACTOR)
    return [r for r in rows if all(word in r["text"].casefold() for word in words)][:limit]


async def delete(host: Host, arguments: SessionArguments) -> None:
    """Delete a session, its messages and its traces."""
    row = await _session_row(host, arguments)
    session_id = row["id"]
    if not arguments.yes:
        confirm(f"Delete session {session_id}?")
    await host.services[Inspection].delete_session(session_id)
    await forget_session(host, session_id)
    await session_deleted(host, session_id, row["channel"], row["chat"])
    print_text(f"Deleted session {session_id}.")


ACTIONS: Mapping[str, Callable[[Host, SessionArguments], Awaitable[None]]] = {
    "list": list_,
    "show": show,
    "search": search,
    "export": export,
    "delete": delete,
}
"""The actions by name."""


async def _session_row(host: Host, arguments: SessionArguments) -> dict[str, Any]:
    """The ``id title channel chat`` of the session that was given."""
    row = await find_session(host, arguments.session())
    return {name: row[name] for name in ("id", "title", "channel", "chat")}


async def find_session(host: Host, named: str) -> Mapping[str, Any]:
    """The session with this id, or the only one whose id starts with it; else end the command."""
    rows = await host.storage.fetch(
        "sessions_called", prefix=named, chars=len(named), limit=MAX_CANDIDATES + 1
    )
    if not rows:
        exit_unknown_session(named)
    if rows[0]["id"] != named and len(rows) > 1:
        lines = [
            f"  {row['id']}  {local_time(row['updated'])}  {session_name(row)}" for row in rows
        ]
        more = ["  …"] if len(rows) > MAX_CANDIDATES else []
        several = "\n".join([*lines[:MAX_CANDIDATES], *more])
        exit_with_error(f"{named} matches several sessions:\n{several}")
    return rows[0]


def session_name(row: Mapping[str, Any], most: int = MAX_NAME_CHARS) -> str:
    """A session's title, else its first words, on one line."""
    said = re.sub(r"(?m)^\(attached file .*\)$", "", str(row["first_words"] or ""))
    words = spell_out(" ".join(str(row["title"] or said).split()))
    return words if len(words) <= most else words[: most - 1] + "…"


def _name_chars(id_chars: int) -> int:
    """Characters for a session's name, so that a line of the list fits the terminal."""
    if not sys.stdout.isatty():
        return MAX_NAME_CHARS
    others = id_chars + len("turns") + len("2026-01-01 09:30") + 3 * len("  ")
    return min(MAX_NAME_CHARS, max(MIN_NAME_CHARS, shutil.get_terminal_size().columns - others))


async def stored_messages(host: Host, session_id: str) -> list[dict[str, Any]]:
    """The stored messages, oldest first: ``seq turn role blocks created``.

    The last message of a turn that failed has its reason as ``error``: it is not the model's text,
    so no message holds it.
    """
    rows = await host.storage.fetch("messages", id=session_id)
    failed = await host.storage.fetch("failed_turns", id=session_id)
    last = {row["turn"]: row["seq"] for row in rows}
    errors = {last.get(row["id"]): row["error"] for row in failed}
    return [
        {
            "seq": row["seq"],
            "turn": row["turn"],
            **body(row),
            "created": row["created"],
            **({"error": errors[row["seq"]]} if row["seq"] in errors else {}),
        }
        for row in rows
    ]


def shown_blocks(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The blocks of a message of :func:`stored_messages`, with the reason why its turn failed."""
    blocks = list(message["blocks"])
    error = message.get("error")
    if not error:
        return blocks
    if blocks and blocks[-1].get("text") == NO_ANSWER:
        blocks.pop()
    if not any(error in str(block.get("text", "")) for block in blocks):
        blocks.append({"type": "text", "text": error})  # older answers end with the error
    return blocks


def body(row: Mapping[str, Any]) -> dict[str, Any]:
    """A message's ``role`` and ``blocks``; one that cannot be parsed has a block ``unreadable``."""
    try:
        stored = jsonlib.loads(row["body"])
        if [block_text(block) for block in stored["blocks"]] and isinstance(stored["role"], str):
            return dict(stored)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        pass
    return {"role": "unreadable", "blocks": [{"type": "unreadable", "stored": str(row["body"])}]}


def from_others(block: Mapping[str, Any]) -> str:
    """The origins of a block as text; empty if the operator or the agent wrote it."""
    try:
        others = strangers(origins_from_json(block.get("origins")))
    except (ValueError, TypeError):
        return ", origin unreadable"
    return f", from {named(others)}" if others else ""


def block_text(block: Mapping[str, Any]) -> str:
    """A message block as text."""
    if block["type"] == "unreadable":
        return (
            f"this message cannot be read; it is stored as: {block['stored'][:MAX_SNIPPET_CHARS]}"
        )
    if block["type"] == "tool_call":
        arguments = jsonlib.dumps(block["arguments"], ensure_ascii=False)
        return spell_out(f"→ {block['name']} {arguments}")
    if block["type"] == "tool_result":
        return f"← {block['text']}"
    return str(block.get("text") or f"({block['type']})")


def action(name: str) -> str:
    """Return the name of an action; end the command if it is unknown."""
    if name not in ACTIONS:
        near = difflib.get_close_matches(name, ACTIONS, 1)
        hint = f"Did you mean {near[0]}?" if near else f"Use one of {', '.join(ACTIONS)}."
        exit_with_error(f"unknown action {name}. {hint}")
    return name
