"""Show what the agent remembers, and undo changes.

``hookline memory``.
"""

from __future__ import annotations

import json as jsonlib
import re
import sys
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer
from hookline_hookspecs import HooklineError, origins_from_json
from hookline_hookspecs.cli import with_plugin

from .origins import format_origins
from .text import one_line

if TYPE_CHECKING:
    from .plugin import Memory


Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
MAX_LINE_CHARS = 160
"""Characters of a text in one line."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

app = typer.Typer(no_args_is_help=True)


@app.command("list")
@with_plugin
async def list_memory(
    plugin: Memory,
    chat: Annotated[
        str | None, typer.Option(help="Only this chat, such as telegram:222.", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """List all memories and the turns they came from."""
    rows, problems = await plugin.rows().remembered()
    for problem in problems:
        sys.stderr.write(f"hookline: {problem}.\n")
    rows = [row for row in rows if chat is None or row["chat"] == chat]
    if json:
        _out_json(rows)
    elif not rows:
        _out("Nothing is remembered." if chat is None else f"Nothing is remembered from {chat}.")
    for row in [] if json else rows:
        _out(f"{row['kind']}  {row['chat'] or 'every chat'}  {_trace(row)}")
        _out(f"    {one_line(row['text'], MAX_LINE_CHARS)}{_expiry(row)}")


@app.command("log")
@with_plugin
async def log(
    plugin: Memory,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of entries.")] = 20,
    json: Json = False,
) -> None:
    """Show what was added, changed and forgotten, newest first."""
    rows = await plugin.rows().log(limit)
    if json:
        _out_json(rows)
    elif not rows:
        _out("Nothing has been learned yet.")
    for row in [] if json else rows:
        undone = f"  (undone by {row['undone_by']})" if row["undone_by"] else ""
        _out(f"{row['number']}  {row['chat']}  {_trace(row)}{undone}")
        for change in row["changes"]:
            _out(f"    {_change(change)}")


@app.command("undo")
@with_plugin
async def undo(
    plugin: Memory,
    number: Annotated[str, typer.Argument(help="The change's number, from `hookline memory log`.")],
) -> None:
    """Undo a logged change. Refused if the entry has changed again."""
    try:
        _out(await plugin.rows().undo(number))
    except HooklineError as error:
        sys.stderr.write(f"hookline: {error}.\n")
        raise SystemExit(1) from None


def _trace(row: Mapping[str, Any]) -> str:
    if row["at"] is None:
        return "by hand"
    when = datetime.fromtimestamp(row["at"]).strftime("%Y-%m-%d %H:%M")
    if not row["session"]:
        return when
    turn = f", turn {row['turn']}" if row["turn"] else ""
    from_ = format_origins(origins_from_json(row.get("origins")))
    return f"{when}  session {row['session']}{turn}{from_ and f'  {from_}'}"


def _expiry(row: Mapping[str, Any]) -> str:
    if row.get("expires") is None:
        return ""
    return f" (until {datetime.fromtimestamp(row['expires']):%Y-%m-%d})"


def _change(change: Mapping[str, Any]) -> str:
    signs = zip("-+", (change["before"], change["after"]), strict=True)
    texts = [f"{sign} {one_line(text, MAX_LINE_CHARS)}" for sign, text in signs if text is not None]
    return f"{change['kind']} {change['op']}: {'  '.join(texts)}"


def _out(text: str) -> None:
    """Write a line to stdout, with control characters escaped."""
    sys.stdout.write(_CONTROL.sub(lambda match: ascii(match[0])[1:-1], text) + "\n")


def _out_json(value: object) -> None:
    sys.stdout.write(jsonlib.dumps(value, ensure_ascii=False) + "\n")
