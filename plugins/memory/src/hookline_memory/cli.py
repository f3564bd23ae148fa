"""``hookline memory list|log|undo``: what was learnt, from where, and how to take it back.

Other plugins that learn something join in by adding a service ``LearnedSource``
(``hookline_chatfiles``).

Core reads the signatures when it builds the command line. Imported only then, because of Typer.
"""

from __future__ import annotations

import json as jsonlib
import re
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any

import typer
from hookline_chatfiles import Chat, LearnedSource
from hookline_hookspecs import HooklineError, Host, origins_from_json, origins_to_json
from hookline_origins.kept import read

from .changes import Changes
from .facts import Facts
from .log import Entry, Source, newest
from .origins import shown
from .places import TERMINAL, Places
from .wording import Complaint, one_line

Json = Annotated[bool, typer.Option("--json", help="JSON.")]
SEARCHED = 100_000
"""Log entries that are searched for the origin of a note."""
WIDTH = 160
"""Characters of a text in a line."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class Commands:
    """One method for each command, called by its name."""

    def __init__(self, host: Host, places: Places, facts: Facts, changes: Changes) -> None:
        self._host = host
        self._places = places
        self._facts = facts
        self._changes = changes

    async def show(
        self,
        chat: Annotated[
            str | None, typer.Option(help="Only this chat, as CHANNEL:ID.", show_default=False)
        ] = None,
        json: Json = False,
    ) -> None:
        """Every note and fact, and what else was learnt, each with the turn it comes from."""
        rows = [*await self._notes(), *await self._fact_rows()]
        for source in self._sources():
            rows += await source.list()
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
        rows = [_entry_row(entry) for entry in await newest(self._host, limit)]
        for source in self._sources():
            rows += await source.log(limit)
        rows = sorted(rows, key=lambda row: row["at"] or 0.0, reverse=True)[:limit]
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
        name, _, last = number.rpartition(":")
        try:
            if not last.isdecimal() or len(last) > 15:
                raise Complaint(f"{one_line(number, 40)!r} is no number of `hookline memory log`")
            if not name:
                source = Source(Chat(TERMINAL, "default"), "", "", "undo")
                made = await self._changes.undo(int(last), source)
                _out(f"Undone; `hookline memory undo {made}` takes that back.")
                return
            source = next((one for one in self._sources() if one.name == name), None)
            if source is None:
                raise Complaint(f"no plugin {name} that is on has a log")
            _out(await source.undo(int(last)))
        except HooklineError as error:
            sys.stderr.write(f"hookline: {error}.\n")
            raise SystemExit(1) from None

    def _sources(self) -> Sequence[LearnedSource]:
        return self._host.services.all(LearnedSource)

    async def _notes(self) -> list[dict[str, Any]]:
        """Return a row for each note. Its origin is that of the same text in the log."""
        entries = await newest(self._host, SEARCHED)
        known = {
            (change["file"], change["after"]): entry
            for entry in reversed(entries)
            for change in entry.changes
            if change["kind"] == "note" and change["after"] is not None
        }
        rows = []
        for file, chat in self._places.all():
            try:
                notes = file.read().notes
            except Complaint as error:
                sys.stderr.write(f"hookline: {error}.\n")
                continue
            for text in notes.entries:
                entry = known.get((file.name, text))
                row = {"kind": "note", "chat": _name(chat), "text": text, "file": file.name}
                rows.append({**row, **(_where(entry) if entry else _BY_HAND)})
        return rows

    async def _fact_rows(self) -> list[dict[str, Any]]:
        return [
            {
                "kind": "fact",
                "chat": _name(Chat(row["channel"], row["chat_id"])),
                "text": row["content"],
                "id": row["id"],
                "category": row["category"],
                "confidence": row["confidence"],
                "expires": row["expires_at"],
                "at": row["created"],
                "session": row["session_id"],
                "turn": row["turn"],
                "turn_id": row["turn_id"],
                "origins": origins_to_json(read(row["origins"])),
            }
            for row in await self._facts.all()
        ]


_BY_HAND: Mapping[str, Any] = {
    "at": None,
    "session": "",
    "turn": None,
    "turn_id": "",
    "origins": [],
}


def _name(chat: Chat | None) -> str:
    """Return the chat as it is written in config; empty for the global notes."""
    return "" if chat is None else f"{chat.channel}:{chat.chat_id}"


def _where(entry: Entry) -> dict[str, Any]:
    turn = {"turn": entry.turn, "turn_id": entry.turn_id}
    origins = {"origins": origins_to_json(entry.origins)}
    return {"at": entry.at, "session": entry.session_id, **turn, **origins}


def _entry_row(entry: Entry) -> dict[str, Any]:
    row = {"number": str(entry.number), "chat": _name(entry.chat), **_where(entry)}
    changes = [_told(change) for change in entry.changes]
    undo = {"undoes": entry.undoes, "undone_by": entry.undone_by}
    return row | {"origin": entry.origin, "changes": changes, **undo}


def _told(change: Mapping[str, Any]) -> dict[str, Any]:
    """Return a change with its texts before and after."""
    if change["kind"] == "note":
        return dict(change)
    texts = {side: change[side] and change[side]["content"] for side in ("before", "after")}
    number = (change["before"] or change["after"])["id"]
    return {"kind": "fact", "op": change["op"], "id": number, **texts}


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
