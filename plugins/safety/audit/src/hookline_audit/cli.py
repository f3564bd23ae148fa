"""``hookline audit``, as Typer reads it."""

from __future__ import annotations

import json as jsonlib
import re
import sys
import time
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from importlib.resources import files
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from hookline_hookspecs.audit import KINDS

from .export import BATCH, FORMATS, lines
from .reading import Entry, shown_detail
from .search import Wanted, rows

if TYPE_CHECKING:
    from .service import Service

BROKEN, USAGE = 1, 2
_SPANS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
Json = Annotated[bool, typer.Option("--json", help="JSON, one object a line.")]
Since = Annotated[
    str, typer.Option(help="A day or time (2026-11-24T08:00), or how long ago: 90m, 12h, 7d.")
]
Until = Annotated[str, typer.Option(help="Before a day or time, written as --since.")]
Day = Annotated[str, typer.Option(help="One day: 2026-11-24.")]
Person = Annotated[
    str, typer.Option(help="Who did or approved it: CHANNEL:USER, such as telegram:222.")
]
Find = Annotated[str, typer.Option(help="Words of the SQL, of a name or of a detail.")]


class Cli:
    """The commands."""

    def __init__(self, service: Callable[[], Service]) -> None:
        self._service = service

    def app(self) -> typer.Typer:
        """Return ``show verify export erase prune grants``."""
        app = typer.Typer(no_args_is_help=True)
        commands = (self.show, self.verify, self.export, self.erase, self.prune, self.grants)
        for command in commands:
            app.command()(command)
        return app

    async def show(
        self,
        kind: Annotated[str, typer.Option(help=f"One of {' '.join(KINDS)}.")] = "",
        since: Since = "",
        until: Until = "",
        day: Day = "",
        person: Person = "",
        find: Find = "",
        session: Annotated[str, typer.Option(help="Of one session.")] = "",
        turn: Annotated[str, typer.Option(help="Of one turn.")] = "",
        turns: Annotated[
            bool, typer.Option("--turns", help="With everything else of the same turns.")
        ] = False,
        json: Json = False,
    ) -> None:
        """Show who did what, oldest first; without any condition the last 100 rows."""
        begin, end = _span(since, until, day)
        wanted = Wanted(_kind(kind), begin, end, person, find, session, turn, turns)
        service = self._service()
        reader = await service.reader()
        if wanted.is_all:
            for entry in reversed(await reader.newest(100, kind)):
                _say(line_of(entry, json=json))
            return
        found = False
        async for entry in rows(reader, wanted):
            _say(line_of(entry, json=json))
            found = True
        if not found and not json:
            sys.stderr.write("hookline: no row of the audit is like this\n")

    async def export(
        self,
        format: Annotated[  # noqa: A002
            str, typer.Option(help=f"One of {' '.join(FORMATS)}.")
        ] = "jsonl",
        kind: Annotated[str, typer.Option(help=f"One of {' '.join(KINDS)}.")] = "",
        since: Since = "",
        until: Until = "",
        day: Day = "",
        person: Person = "",
    ) -> None:
        """Print rows for another program, oldest first: JSON lines, OTLP/JSON or syslog."""
        if format not in FORMATS:
            _usage(f"--format: there is no format {format!r}; there are {', '.join(FORMATS)}")
        begin, end = _span(since, until, day)
        reader = await self._service().reader()
        batch: list[Entry] = []
        async for entry in rows(reader, Wanted(_kind(kind), begin, end, person)):
            batch.append(entry)
            if len(batch) == BATCH:
                _say_all(lines(format, batch))
                batch.clear()
        _say_all(lines(format, batch))

    async def erase(
        self,
        chat: Annotated[str, typer.Argument(metavar="CHAT", help="CHANNEL:CHAT, as shown.")],
        yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    ) -> None:
        """Destroy the key of a chat: what is personal in its rows is never read again."""
        if ":" not in chat.strip(":"):
            _usage(f"{chat!r} is no chat; write CHANNEL:CHAT, such as telegram:222")
        if not yes:
            if not sys.stdin.isatty():
                _usage(f"nobody is there to ask; `hookline audit erase {chat} --yes` does it")
            if not typer.confirm(
                f"Make what is personal in the rows of {chat} unreadable for good?"
            ):
                raise SystemExit(BROKEN)
        if not await self._service().erase(chat):
            sys.stderr.write(f"hookline: the audit has no rows of {chat}\n")
            raise SystemExit(BROKEN)
        _say(f"Nobody can read any more who {chat} was and what they did; the rows stay.")

    async def prune(self) -> None:
        """Remove rows that are older than keep_days; a gateway does so every day."""
        removed = await self._service().prune()
        _say(f"{removed:,} rows are removed.")

    def grants(
        self,
        role: Annotated[str, typer.Argument(metavar="ROLE", help="That of the gateways.")],
        owner: Annotated[str, typer.Option(help="The role that owns the tables.")] = "hookline",
        schema: Annotated[str, typer.Option(help="The schema of the tables.")] = "public",
    ) -> None:
        """Print what PostgreSQL is told, so that the gateways can add rows and change none."""
        text = files(__package__).joinpath("grants.sql").read_text("utf-8")
        names = {"role": role, "owner": owner, "schema": schema}
        for what, name in names.items():
            if not re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", name):
                _usage(f"{name!r} is no plain name of a {what}: small letters, digits and _")
        _say(text.format(**names).rstrip())

    async def verify(self, json: Json = False) -> None:
        """Check every row and every checkpoint; exits 1 and names the first row that is broken."""
        found = await self._service().verify()
        if json:
            _say(jsonlib.dumps(found.as_dict()))
        elif found.ok:
            erased = f", {found.erased} of them of chats that were erased" if found.erased else ""
            _say(
                f"All {found.rows:,} rows are as they were written{erased}; "
                f"{found.checkpoints:,} checkpoints fit."
            )
        else:
            _say(f"Broken: {found.broken}.")
        if not found.ok:
            raise SystemExit(BROKEN)


def _kind(text: str) -> str:
    if text and text not in KINDS:
        _usage(f"--kind: there is no kind {text!r}; the kinds are {', '.join(KINDS)}")
    return text


def _span(since: str, until: str, day: str) -> tuple[float | None, float | None]:
    """The time that the options say, in Unix seconds. Exits 2."""
    now = time.time()
    if not day:
        return read_time("--since", since, now), read_time("--until", until, now)
    if since or until:
        _usage("--day stands for --since and --until; leave these away")
    try:
        begin = datetime.combine(date.fromisoformat(day), datetime.min.time())
        return begin.timestamp(), (begin + timedelta(days=1)).timestamp()
    except (ValueError, OverflowError, OSError):
        _usage(f"--day: {day!r} is no day; write 2026-11-24")


def read_time(option: str, text: str, now: float) -> float | None:
    """Return the time that a person wrote, Unix seconds; None for an empty text. Exits 2."""
    if not text:
        return None
    if found := re.fullmatch(r"(\d{1,6})([smhdw])", text):
        return now - int(found[1]) * _SPANS[found[2]]
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        _usage(f"{option}: {text!r} is no time; write 2026-11-24, 2026-11-24T08:00, 90m, 12h or 7d")


def line_of(entry: Entry, *, json: bool) -> str:
    """Return a row as people read it, or as JSON."""
    told = entry.as_dict()
    if json:
        return jsonlib.dumps(told)
    parts = [
        told["at"][:19].replace("T", " "),
        told["actor"] or "-",
        told["kind"],
        told["object"],
        told["verdict"],
    ]
    if told["approver"]:
        parts.append(f"by {told['approver']}")
    if entry.state != "ok":
        parts.append(f"({entry.state})")
    parts.append(shown_detail(told["detail"]))
    return "  ".join(_plain(part) for part in parts if part)


def _plain(text: str) -> str:
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)


def _say(text: str) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")


def _say_all(texts: Sequence[str]) -> None:
    for text in texts:
        _say(text)


def _usage(text: str) -> NoReturn:
    sys.stderr.write(f"hookline: {text}\n")
    raise SystemExit(USAGE)
