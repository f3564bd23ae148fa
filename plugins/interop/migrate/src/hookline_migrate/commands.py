"""Import another agent's home, and undo that.

``hookline migrate``. What other commands have to change comes before the runtime is open, because
an open runtime may start none of them.
"""

from __future__ import annotations

import difflib
import json as jsonlib
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from hookline_hookspecs import CommandError, HooklineError, Host
from hookline_hookspecs.cli import command_line, with_plugin

from .journal import Journal
from .moving import KINDS, Inside, Row, home_is_new, outside, outside_back, taken, unfinished
from .outside import KINDS as OUTSIDE
from .outside import hookline
from .reading import Unreadable
from .report import report, undone
from .sources import NAMES, PLACES, Options, Source, source_of
from .sources.base import TERMINAL, Entry

if TYPE_CHECKING:
    from . import Migrate

FAILED, USAGE = 1, 2
"""Exit codes."""


Which = Annotated[str, typer.Argument(metavar="SOURCE", help=", ".join(NAMES))]
From = Annotated[
    Path | None,
    typer.Option("--from", metavar="DIR", help="Its home; by default where it usually is."),
]
Only = Annotated[str, typer.Option(metavar="KIND", help=f"One kind: {', '.join(KINDS[:-2])}.")]
Secrets = Annotated[bool, typer.Option("--secrets", help="Also import the keys in its .env.")]
Chat = Annotated[
    str,
    typer.Option(
        metavar="CHANNEL:ID", help="The chat that its USER.md describes; yours by default."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

WORKS_WHEN_OFF = True
app = typer.Typer(no_args_is_help=True)


@app.command("plan")
@with_plugin
def plan(
    plugin: Migrate,
    source: Which,
    from_: From = None,
    only: Only = "",
    secrets: Secrets = False,
    chat: Chat = TERMINAL,
    json: Json = False,
) -> None:
    """Show what would be imported from another agent; nothing is changed."""
    found = _source(source, from_, chat, only, secrets=secrets)
    journal = Journal(plugin.host.home, source)
    entries = _chosen(found, only)
    rows = list(outside(plugin.host, _of(entries, True), journal, secrets=secrets, write=False))
    rows += _opened(
        lambda host: _all(Inside(host, found.name, found, journal), entries, write=False)
    )
    if json:
        _say(jsonlib.dumps(rows, ensure_ascii=False))
        return
    _say(report(rows, f"{NAMES[found.name]} in {_short(found.folder.root)}"))
    if any(row["state"] == "planned" for row in rows):
        _say(f"\nNothing was changed. Next: hookline migrate apply {source}")


@app.command("apply")
@with_plugin
def apply(
    plugin: Migrate,
    source: Which,
    from_: From = None,
    only: Only = "",
    secrets: Secrets = False,
    chat: Chat = TERMINAL,
    no_backup: Annotated[
        bool, typer.Option("--no-backup", help="Do not back up your home first.")
    ] = False,
    json: Json = False,
) -> None:
    """Back up your home, then import. Run it again to resume or to add what is new."""
    found = _source(source, from_, chat, only, secrets=secrets)
    home = plugin.host.home
    journal = Journal(home, source)
    with journal.held():
        kept = "" if no_backup or home_is_new(home) else _backup(home)
        entries = _chosen(found, only)
        own = _of(entries, True)
        rows = list(outside(plugin.host, own, journal, secrets=secrets, write=True))
        rows += _opened(
            lambda host: _all(Inside(host, found.name, found, journal), entries, write=True)
        )
    if json:
        _say(jsonlib.dumps(rows, ensure_ascii=False))
    else:
        _say(report(rows, f"{NAMES[found.name]} in {_short(found.folder.root)}"))
        _next(rows, source, kept)
    if any(row["state"] == "error" for row in rows):
        raise SystemExit(FAILED)


@app.command("undo")
@with_plugin
def undo(plugin: Migrate, source: Which, only: Only = "", json: Json = False) -> None:
    """Remove what was imported, except what you have changed since."""
    _check_program(source)
    _check_kind(only)
    journal = Journal(plugin.host.home, source)
    with journal.held():
        wanted = [row for row in taken(journal) if only in ("", row["kind"])]
        rows = [row for row in unfinished(journal) if only in ("", row["kind"])]
        own = [row for row in wanted if row["kind"] in OUTSIDE]
        rest = [row for row in wanted if row["kind"] not in OUTSIDE]
        rows += outside_back(plugin.host, own, journal)
        if rest:
            rows += _opened(lambda host: _undone(host, journal, rest))
    if json:
        _say(jsonlib.dumps(rows, ensure_ascii=False))
    elif rows:
        _say(undone(rows, f"Imported from {NAMES[source]}"))
    else:
        _say(f"Nothing was imported from {NAMES[source]}.")
    if any(row["state"] == "error" for row in rows):
        raise SystemExit(FAILED)


def _source(program: str, given: Path | None, chat: str, only: str, *, secrets: bool) -> Source:
    _check_program(program)
    _check_kind(only)
    if ":" not in chat.strip(":"):
        raise CommandError(f"{chat!r} is not a chat. Write CHANNEL:ID, such as {TERMINAL}", USAGE)
    variable, usual = PLACES[program]
    root = given or Path(os.environ.get(variable) or usual)
    try:
        return source_of(program, root, Options(chat, secrets))
    except Unreadable as error:
        raise CommandError(str(error), USAGE) from None


def _check_program(name: str) -> None:
    if name in NAMES:
        return
    programs = list(NAMES)
    near = difflib.get_close_matches(Path(name).name.lower(), programs, 1)
    program = near[0] if near else "PROGRAM"
    if Path(name).expanduser().is_dir() or "/" in name:
        told = f". Name the program, and its folder with --from: {program} --from {name}"
    else:
        told = f". Did you mean {program}?" if near else ""
    raise CommandError(
        f"cannot import from {name!r}. Choose one of {', '.join(programs)}{told}", USAGE
    )


def _check_kind(only: str) -> None:
    if only and only not in KINDS:
        raise CommandError(f"unknown kind {only!r}. Choose one of {', '.join(KINDS)}", USAGE)


def _chosen(source: Source, only: str) -> list[Entry]:
    return [entry for entry in source.entries() if only in ("", entry.item.kind)]


def _of(entries: Iterable[Entry], is_outside: bool) -> list[Entry]:
    return [entry for entry in entries if (entry.item.kind in OUTSIDE) is is_outside]


def _opened(work: Callable[[Host], Any]) -> list[Row]:
    rows: list[Row] = command_line().run(lambda plugin: work(plugin.host))
    return rows


async def _all(inside: Inside, entries: Sequence[Entry], *, write: bool) -> list[Row]:
    return [row async for row in inside.rows(_of(entries, False), write=write)]


async def _undone(host: Host, journal: Journal, rows: Sequence[Row]) -> list[Row]:
    return [row async for row in Inside(host, "", None, journal).undone(rows)]


def _backup(home: Path) -> str:
    try:
        made = jsonlib.loads(hookline(home, "backup", "create", "--json"))
    except (HooklineError, ValueError) as error:
        raise CommandError(
            f"the backup failed, so nothing was imported ({error}). Add --no-backup to go without",
            FAILED,
        ) from None
    return str(made["file"])


def _next(rows: Sequence[Row], source: str, backup: str) -> None:
    kinds = {row["kind"] for row in rows if row["state"] == "migrated"}
    steps = {
        "job": "Run `hookline cron list`, and resume the jobs you want",
        "person": "Run `hookline pairing list`, then `hookline pairing approve PERSON`",
        "server": "Run `hookline mcp approve NAME` to review and approve a server's tools",
    }
    _say("")
    if backup:
        _say(f"Your home was backed up to {_short(Path(backup))}")
    for kind, told in steps.items():
        if kind in kinds:
            _say(told)
    _say(f"`hookline migrate undo {source}` undoes this")


def _short(path: Path) -> str:
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
