"""``hookline memory list|log|undo``: what was learnt, from where, and how to take it back.

Other plugins that learn something join in by adding a service ``LearnedSource``
(``hookline_hookspecs.chat_files``).

Core reads the signatures when it builds the command line. Imported only then, because of Typer.
"""

from __future__ import annotations

import json as jsonlib
import re
import sys
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

import typer
from hookline_hookspecs import HooklineError, origins_from_json

from .origins import shown
from .rows import Rows
from .wording import one_line

Json = Annotated[bool, typer.Option("--json", help="JSON.")]
WIDTH = 160
"""Characters of a text in a line."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class Commands:
    """One method for each command, called by its name."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    async def show(
        self,
        chat: Annotated[
            str | None, typer.Option(help="Only this chat, as CHANNEL:ID.", show_default=False)
        ] = None,
        json: Json = False,
    ) -> None:
        """Every note and fact, and what else was learnt, each with the turn it comes from."""
        rows, problems = await self._rows.remembered()
        for problem in problems:
            sys.stderr.write(f"hookline: {problem}.\n")
        rows = [row for row in rows if chat is None or row["chat"] == chat]
        if json:
            _out_json(rows)
        elif not rows:
            _out("Nothing is remembered." if chat is None else f"Nothing is remembered of {chat}.")
        for row in [] if json else rows:
            _out(f"{row['kind']}  {row['chat'] or 'every chat'}  {_trace(row)}")
            _out(f"    {one_line(row['text'], WIDTH)}{_fading(row)}")

    async def log(
        self,
        limit: Annotated[int, typer.Option(min=1, help="How many, newest first.")] = 20,
        json: Json = False,
    ) -> None:
        """What was learnt, changed and forgotten, the newest first; `memory undo` takes it back."""
        rows = await self._rows.log(limit)
        if json:
            _out_json(rows)
        elif not rows:
            _out("Nothing was learnt yet.")
        for row in [] if json else rows:
            undone = f"  (undone by {row['undone_by']})" if row["undone_by"] else ""
            _out(f"{row['number']}  {row['chat']}  {_trace(row)}{undone}")
            for change in row["changes"]:
                _out(f"    {_change(change)}")

    async def undo(
        self, number: Annotated[str, typer.Argument(help="The entry's number in `memory log`.")]
    ) -> None:
        """Take back what an entry of the log did; refused if it has been changed since."""
        try:
            _out(await self._rows.undo(number))
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
    from_ = shown(origins_from_json(row.get("origins")))
    return f"{when}  session {row['session']}{turn}{from_ and f'  {from_}'}"


def _fading(row: Mapping[str, Any]) -> str:
    if row.get("expires") is None:
        return ""
    return f" (until {datetime.fromtimestamp(row['expires']):%Y-%m-%d})"


def _change(change: Mapping[str, Any]) -> str:
    signs = zip("-+", (change["before"], change["after"]), strict=True)
    texts = [f"{sign} {one_line(text, WIDTH)}" for sign, text in signs if text is not None]
    return f"{change['kind']} {change['op']}: {'  '.join(texts)}"


def _out(text: str) -> None:
    """Write a line to stdout, with control characters escaped."""
    sys.stdout.write(_CONTROL.sub(lambda match: ascii(match[0])[1:-1], text) + "\n")


def _out_json(value: object) -> None:
    sys.stdout.write(jsonlib.dumps(value, ensure_ascii=False) + "\n")
