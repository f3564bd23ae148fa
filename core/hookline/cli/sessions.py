"""``hookline sessions …``."""

from __future__ import annotations

import json as jsonlib
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .shared import Json, confirmed, out, out_json, stop, table, with_runtime

if TYPE_CHECKING:
    from hookline.runtime import Runtime

app = typer.Typer(help="See, search, export and delete conversations.", no_args_is_help=True)
FIELDS = ("id", "title", "channel", "chat", "created", "updated", "turns")


@app.command("list")
def list_(
    limit: Annotated[int, typer.Option(help="How many, newest first.")] = 50, json: Json = False
) -> None:
    """Stored sessions, newest first."""

    async def work(runtime: Runtime) -> list[dict[str, Any]]:
        rows = await runtime.journal.sessions(limit=limit)
        return [
            {**{f: row[f] for f in FIELDS if f != "chat"}, "chat": row["chat_id"]} for row in rows
        ]

    rows = [{field: row[field] for field in FIELDS} for row in with_runtime(work)]
    cells = [[row["id"], row["title"], row["turns"], _when(row["updated"])] for row in rows]
    text = table([["id", "title", "turns", "last used"], *cells]) if rows else "No session yet."
    out_json(rows) if json else out(text)


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")


@app.command()
def show(session_id: str, json: Json = False) -> None:
    """What was said in a session."""
    row, messages = with_runtime(lambda runtime: _read(runtime, session_id))
    if json:
        out_json({"id": row["id"], "title": row["title"], "messages": messages})
        return
    for message in messages:
        for block in message["blocks"]:
            out(f"[{message['role']}] {_block_text(block)}")


def _block_text(block: dict[str, Any]) -> str:
    if block["type"] == "tool_call":
        return f"→ {block['name']} {jsonlib.dumps(block['arguments'], ensure_ascii=False)}"
    if block["type"] == "tool_result":
        return f"← {block['text']}"
    return str(block.get("text") or f"({block['type']})")


async def _read(runtime: Runtime, session_id: str) -> tuple[Any, list[dict[str, Any]]]:
    row = await runtime.journal.session(session_id)
    if row is None:
        stop(f"there is no session {session_id}; `hookline sessions list` shows those there are")
    stored = await runtime.journal.messages(session_id)
    return row, [
        {
            "seq": item["seq"],
            "turn": item["turn_id"],
            **jsonlib.loads(item["body"]),
            "created": item["created"],
        }
        for item in stored
    ]


@app.command()
def export(session_id: str) -> None:
    """Every stored message of a session, one JSON object a line."""
    for message in with_runtime(lambda runtime: _read(runtime, session_id))[1]:
        out_json(message)


@app.command()
def search(
    query: str,
    limit: Annotated[int, typer.Option(help="How many, newest first.")] = 20,
    json: Json = False,
) -> None:
    """Messages that hold every word of QUERY."""

    async def work(runtime: Runtime) -> list[Any]:
        return [dict(row) for row in await runtime.journal.search(query.split(), limit)]

    rows = with_runtime(work)
    if json:
        out_json(rows)
        return
    for row in rows:
        text = " ".join(row["text"].split())
        out(f"{row['session_id']}  {_when(row['created'])}  [{row['role']}] {text[:160]}")


@app.command()
def delete(
    session_id: str, yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False
) -> None:
    """Delete a session and all that was said in it."""

    async def work(runtime: Runtime) -> None:
        await _read(runtime, session_id)
        confirmed(f"Delete session {session_id}?", yes)
        async with runtime.sessions.own(session_id):
            await runtime.journal.delete_session(session_id)
        out(f"Session {session_id} is gone.")

    with_runtime(work)
