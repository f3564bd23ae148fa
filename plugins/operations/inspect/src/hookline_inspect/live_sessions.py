"""``hookline sessions --live``: open chats, and sessions in which a turn runs or waits.

In any process of the home.
"""

from __future__ import annotations

import json as jsonlib
from collections.abc import Mapping
from typing import Any

from hookline_hookspecs import Host
from hookline_hookspecs.visible_text import spell_out

from .open_chats import is_held, open_chats
from .output import print_json, print_text, table
from .sessions import local_time, session_name

FIELDS = ("id", "title", "channel", "chat", "kind", "folder", "pid", "doing", "node", "since")
MAX_QUESTION_CHARS = 60


async def show_live(host: Host, *, json: bool) -> None:
    """Print the live sessions: those with a turn, the oldest first, then the idle chats."""
    chats = await open_chats(host)
    turns = [row for row in await host.storage.fetch("live_turns") if await _is_live(host, row)]
    live = [_working(row, chats) for row in turns]
    busy = {row["id"] for row in turns}
    live += [await _idle(host, chat) for chat in chats if chat["session_id"] not in busy]
    if json:
        print_json([{name: one[name] for name in FIELDS} for one in live])
        return
    print_text(_listed(live) if live else "No chat is open, and no session is running or waiting.")


def _listed(live: list[dict[str, Any]]) -> str:
    """Two lines for each session: what it does, and where and about what it is."""
    heading = ["id", "channel", "pid", "since", "doing"]
    cells = [
        [one["id"], one["channel"], one["pid"], local_time(one["since"]), one["doing"]]
        for one in live
    ]
    first, *rows = table(heading, cells).split("\n")
    lines = [first]
    for row, one in zip(rows, live, strict=True):
        about = " · ".join(filter(None, (spell_out(one["folder"]), session_name(one))))
        lines += [row, f"  {about}"]
    return "\n".join(lines)


def _working(row: Mapping[str, Any], chats: list[Mapping[str, Any]]) -> dict[str, Any]:
    """A session with a turn, and the open chat that it belongs to, if any."""
    doing = f"working: {row['tool']}" if row["tool"] else "working"
    if row["asked"] is not None:
        doing = f"waiting: {_question(row['question'])}"
    since = row["started"] if row["asked"] is None else row["asked"]
    pids = [chat["pid"] for chat in chats if chat["session_id"] == row["id"]]
    pid = pids[0] if pids else None
    return {**row, "pid": pid, "doing": doing, "node": row["owner"], "since": since}


async def _idle(host: Host, chat: Mapping[str, Any]) -> dict[str, Any]:
    """An open chat without a turn; its session is stored with the first message."""
    unknown = {"title": None, "chat": None, "kind": "chat", "first_words": None, "updated": 0.0}
    stored = await host.storage.fetch("session", id=chat["session_id"])
    row = {**unknown, **(stored[0] if stored else {}), **chat, "id": chat["session_id"]}
    since = max(chat["opened"], row["updated"])
    return {**row, "doing": "idle", "node": None, "since": since}


def _question(body: str) -> str:
    text = spell_out(" ".join(str(jsonlib.loads(body)["text"]).split()))
    return text if len(text) <= MAX_QUESTION_CHARS else text[: MAX_QUESTION_CHARS - 1] + "…"


async def _is_live(host: Host, row: Mapping[str, Any]) -> bool:
    """Whether the turn waits for an answer, or the process that runs it is alive.

    The next process finishes what a dead one has left.
    """
    if row["asked"] is not None:
        return True
    return row["owner"] is not None and await is_held(host, f"node:{row['owner']}")
