"""Show, verify and export the audit log.

``hookline audit``.
"""

from __future__ import annotations

import json as jsonlib
import re
import sys
import time
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from importlib.resources import files
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from hookline_hookspecs.audit import KINDS
from hookline_hookspecs.cli import confirm, with_plugin

from .entries import AuditEntry, format_detail
from .export import FORMATS, MAX_ROWS_PER_LINE, export_lines
from .search import EntryFilter, search_entries

if TYPE_CHECKING:
    from .plugin import AuditPlugin

EXIT_BROKEN = 1
EXIT_USAGE = 2
_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
Json = Annotated[bool, typer.Option("--json", help="Print JSON, one object per line.")]
Since = Annotated[
    str,
    typer.Option(
        metavar="TIME", help="From this time (2026-11-24T08:00) or duration ago (90m, 12h, 7d)."
    ),
]
Until = Annotated[str, typer.Option(metavar="TIME", help="Before this time, written like --since.")]
Day = Annotated[str, typer.Option(metavar="DATE", help="On this day: 2026-11-24.")]
Person = Annotated[
    str, typer.Option(help="Done or approved by this CHANNEL:USER, such as telegram:222.")
]
Find = Annotated[
    str, typer.Option(metavar="TEXT", help="Containing this text in the SQL, a name or a detail.")
]

app = typer.Typer(no_args_is_help=True)


@app.command("show")
@with_plugin
async def show(
    plugin: AuditPlugin,
    kind: Annotated[str, typer.Option(help=f"One of {', '.join(KINDS)}.")] = "",
    since: Since = "",
    until: Until = "",
    day: Day = "",
    person: Person = "",
    find: Find = "",
    session: Annotated[str, typer.Option(metavar="ID", help="Only this session.")] = "",
    turn: Annotated[str, typer.Option(metavar="ID", help="Only this turn.")] = "",
    turns: Annotated[
        bool, typer.Option("--turns", help="Include all other rows of the same turns.")
    ] = False,
    json: Json = False,
) -> None:
    """Show who did what, oldest first. Without filters: the last 100 rows."""
    begin, end = _time_range(since, until, day)
    conditions = EntryFilter(_kind(kind), begin, end, person, find, session, turn, turns)
    service = plugin.service
    reader = await service.reader()
    if conditions.has_only_kind:
        for entry in reversed(await reader.newest(100, kind)):
            _say(format_entry(entry, json=json))
        return
    has_rows = False
    async for entry in search_entries(reader, conditions):
        _say(format_entry(entry, json=json))
        has_rows = True
    if not has_rows and not json:
        sys.stderr.write("hookline: no matching rows\n")


@app.command("export")
@with_plugin
async def export(
    plugin: AuditPlugin,
    format: Annotated[  # noqa: A002
        str, typer.Option(help=f"One of {', '.join(FORMATS)}.")
    ] = "jsonl",
    kind: Annotated[str, typer.Option(help=f"One of {', '.join(KINDS)}.")] = "",
    since: Since = "",
    until: Until = "",
    day: Day = "",
    person: Person = "",
) -> None:
    """Print rows for other programs, oldest first."""
    if format not in FORMATS:
        _usage(f"--format: unknown format {format!r}. Choose one of {', '.join(FORMATS)}")
    begin, end = _time_range(since, until, day)
    reader = await plugin.service.reader()
    batch: list[AuditEntry] = []
    async for entry in search_entries(reader, EntryFilter(_kind(kind), begin, end, person)):
        batch.append(entry)
        if len(batch) == MAX_ROWS_PER_LINE:
            _say_all(export_lines(format, batch))
            batch.clear()
    _say_all(export_lines(format, batch))


@app.command("erase")
@with_plugin
async def erase(
    plugin: AuditPlugin,
    chat: Annotated[
        str, typer.Argument(metavar="CHAT", help="CHANNEL:CHAT, as `audit show` prints it.")
    ],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Make a chat's personal data in the log permanently unreadable."""
    if ":" not in chat.strip(":"):
        _usage(f"{chat!r} is not a chat. Write CHANNEL:CHAT, such as telegram:222")
    question = f"Make the personal data in the rows of {chat} unreadable for good?"
    if not yes and not confirm(question):
        raise SystemExit(EXIT_BROKEN)
    if not await plugin.service.erase(chat):
        sys.stderr.write(f"hookline: no rows for {chat}\n")
        raise SystemExit(EXIT_BROKEN)
    _say(f"The personal data of {chat} can no longer be read. The rows stay.")


@app.command("prune")
@with_plugin
async def prune(plugin: AuditPlugin) -> None:
    """Remove rows older than keep_days. The gateway does this daily."""
    removed = await plugin.service.prune()
    _say(f"Removed {removed:,} rows.")


@app.command("grants")
def grants(
    role: Annotated[str, typer.Argument(metavar="ROLE", help="The gateways' PostgreSQL role.")],
    owner: Annotated[
        str, typer.Option(help="The PostgreSQL role that owns the tables.")
    ] = "hookline",
    schema: Annotated[str, typer.Option(help="The tables' schema.")] = "public",
) -> None:
    """Print SQL that makes the log append-only in PostgreSQL."""
    text = files(__package__).joinpath("grants.sql").read_text("utf-8")
    names = {"role": role, "owner": owner, "schema": schema}
    for what, name in names.items():
        if not re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", name):
            _usage(f"{name!r} is not a plain {what} name. Use lower-case letters, digits and _")
    _say(text.format(**names).rstrip())


@app.command("verify")
@with_plugin
async def verify(plugin: AuditPlugin, json: Json = False) -> None:
    """Check every row and checkpoint. Exits with 1 and names the first broken row."""
    report = await plugin.service.verify()
    if json:
        _say(jsonlib.dumps(report.as_dict()))
    elif report.ok:
        erased = f", {report.erased} of them from erased chats" if report.erased else ""
        _say(
            f"All {report.rows:,} rows are intact{erased}; "
            f"{report.checkpoints:,} checkpoints match."
        )
    else:
        _say(f"Broken: {report.broken}.")
    if not report.ok:
        raise SystemExit(EXIT_BROKEN)


def _kind(text: str) -> str:
    if text and text not in KINDS:
        _usage(f"--kind: unknown kind {text!r}. Choose one of {', '.join(KINDS)}")
    return text


def _time_range(since: str, until: str, day: str) -> tuple[float | None, float | None]:
    """Start and end in Unix seconds, from the options; exits with 2 if they are invalid."""
    now = time.time()
    if not day:
        return parse_time("--since", since, now), parse_time("--until", until, now)
    if since or until:
        _usage("--day replaces --since and --until. Use one or the other")
    try:
        begin = datetime.combine(date.fromisoformat(day), datetime.min.time())
        return begin.timestamp(), (begin + timedelta(days=1)).timestamp()
    except (ValueError, OverflowError, OSError):
        _usage(f"--day: {day!r} is not a day. Write 2026-11-24")


def parse_time(option: str, text: str, now: float) -> float | None:
    """Parse a time to Unix seconds; None for an empty text. Exits with 2 if it is invalid."""
    if not text:
        return None
    if found := re.fullmatch(r"(\d{1,6})([smhdw])", text):
        return now - int(found[1]) * _UNIT_SECONDS[found[2]]
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        _usage(
            f"{option}: {text!r} is not a time. Write 2026-11-24, 2026-11-24T08:00, 90m, 12h or 7d"
        )


def format_entry(entry: AuditEntry, *, json: bool) -> str:
    """Return a row as a line of text or JSON."""
    data = entry.as_dict()
    if json:
        return jsonlib.dumps(data)
    parts = [
        data["at"][:19].replace("T", " "),
        data["actor"] or "-",
        data["kind"],
        data["object"],
        data["verdict"],
    ]
    if data["approver"]:
        parts.append(f"by {data['approver']}")
    if entry.state != "ok":
        parts.append(f"({entry.state})")
    parts.append(format_detail(data["detail"]))
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
    raise SystemExit(EXIT_USAGE)
