"""Import data from another agent, or undo an import.

``hookline migrate``. Items that other commands import come first, before the runtime is opened,
because no other command can run while it is open.
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

from .command_importer import COMMAND_KINDS, run_hookline
from .journal import MigrationJournal
from .migration import (
    KINDS,
    ImportRun,
    Row,
    home_is_new,
    import_command_items,
    interrupted_rows,
    undo_command_items,
    undoable_rows,
)
from .report import format_report, format_undo
from .source_folder import Unreadable
from .sources import HOME_LOCATIONS, PROGRAM_NAMES, MigrationSource, SourceOptions, open_source
from .sources.base import TERMINAL, SourceEntry

if TYPE_CHECKING:
    from . import Migrate

FAILED, USAGE = 1, 2
"""Exit codes."""


Which = Annotated[str, typer.Argument(metavar="SOURCE", help=f"One of {', '.join(PROGRAM_NAMES)}.")]
From = Annotated[
    Path | None,
    typer.Option("--from", metavar="DIR", help="That agent's home. Default: its usual folder."),
]
Only = Annotated[str, typer.Option(metavar="KIND", help=f"Only this: {', '.join(KINDS[:-2])}.")]
Secrets = Annotated[bool, typer.Option("--secrets", help="Also import the keys from its .env.")]
Chat = Annotated[str, typer.Option(metavar="CHANNEL:ID", help="The chat that gets its USER.md.")]
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
    """Show what would be imported, without changing anything."""
    found = _source(source, from_, chat, only, secrets=secrets)
    journal = MigrationJournal(plugin.host.home, source)
    rows = _import_all(plugin.host, found, journal, only, secrets=secrets, write=False)
    if json:
        _say(jsonlib.dumps(rows, ensure_ascii=False))
        return
    _say(format_report(rows, f"{PROGRAM_NAMES[found.name]} in {_short(found.folder.root)}"))
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
        bool, typer.Option("--no-backup", help="Skip the backup of your home.")
    ] = False,
    json: Json = False,
) -> None:
    """Back up your home, then import. Run again to resume or update."""
    found = _source(source, from_, chat, only, secrets=secrets)
    home = plugin.host.home
    journal = MigrationJournal(home, source)
    with journal.lock():
        kept = "" if no_backup or home_is_new(home) else _backup(home)
        rows = _import_all(plugin.host, found, journal, only, secrets=secrets, write=True)
    if json:
        _say(jsonlib.dumps(rows, ensure_ascii=False))
    else:
        _say(format_report(rows, f"{PROGRAM_NAMES[found.name]} in {_short(found.folder.root)}"))
        _say_next_steps(rows, source, kept)
    if any(row["state"] == "error" for row in rows):
        raise SystemExit(FAILED)


@app.command("undo")
@with_plugin
def undo(plugin: Migrate, source: Which, only: Only = "", json: Json = False) -> None:
    """Remove the imported items that you have not changed since."""
    _check_program(source)
    _check_kind(only)
    journal = MigrationJournal(plugin.host.home, source)
    with journal.lock():
        rows_to_undo = [row for row in undoable_rows(journal) if only in ("", row["kind"])]
        rows = [row for row in interrupted_rows(journal) if only in ("", row["kind"])]
        own = [row for row in rows_to_undo if row["kind"] in COMMAND_KINDS]
        rest = [row for row in rows_to_undo if row["kind"] not in COMMAND_KINDS]
        rows += undo_command_items(plugin.host, own, journal)
        if rest:
            rows += _run(lambda host: _undo_rows(host, journal, rest))
    if json:
        _say(jsonlib.dumps(rows, ensure_ascii=False))
    elif rows:
        _say(format_undo(rows, f"Imported from {PROGRAM_NAMES[source]}"))
    else:
        _say(f"Nothing was imported from {PROGRAM_NAMES[source]}.")
    if any(row["state"] == "error" for row in rows):
        raise SystemExit(FAILED)


def _source(
    program: str, given: Path | None, chat: str, only: str, *, secrets: bool
) -> MigrationSource:
    _check_program(program)
    _check_kind(only)
    if ":" not in chat.strip(":"):
        raise CommandError(f"{chat!r} is not a chat. Write CHANNEL:ID, such as {TERMINAL}", USAGE)
    variable, usual = HOME_LOCATIONS[program]
    root = given or Path(os.environ.get(variable) or usual)
    try:
        return open_source(program, root, SourceOptions(chat, secrets))
    except Unreadable as error:
        raise CommandError(str(error), USAGE) from None


def _check_program(name: str) -> None:
    if name in PROGRAM_NAMES:
        return
    programs = list(PROGRAM_NAMES)
    near = difflib.get_close_matches(Path(name).name.lower(), programs, 1)
    program = near[0] if near else "PROGRAM"
    if Path(name).expanduser().is_dir() or "/" in name:
        hint = f". Name the program, and its folder with --from: {program} --from {name}"
    else:
        hint = f". Did you mean {program}?" if near else ""
    raise CommandError(
        f"cannot import from {name!r}. Choose one of {', '.join(programs)}{hint}", USAGE
    )


def _check_kind(only: str) -> None:
    if only and only not in KINDS:
        raise CommandError(f"unknown kind {only!r}. Choose one of {', '.join(KINDS)}", USAGE)


def _import_all(
    host: Host,
    source: MigrationSource,
    journal: MigrationJournal,
    only: str,
    *,
    secrets: bool,
    write: bool,
) -> list[Row]:
    """Import the items, of one kind only if it is given; return a row for each.

    Without ``write``, the rows say what would be done.
    """
    entries = [entry for entry in source.entries() if only in ("", entry.item.kind)]
    own = _by_phase(entries, True)
    rows = list(import_command_items(host, own, journal, secrets=secrets, write=write))
    return rows + _run(
        lambda host: _import_entries(
            ImportRun(host, source.name, source, journal), entries, write=write
        )
    )


def _by_phase(entries: Iterable[SourceEntry], by_command: bool) -> list[SourceEntry]:
    return [entry for entry in entries if (entry.item.kind in COMMAND_KINDS) is by_command]


def _run(work: Callable[[Host], Any]) -> list[Row]:
    rows: list[Row] = command_line().run(lambda plugin: work(plugin.host))
    return rows


async def _import_entries(
    inside: ImportRun, entries: Sequence[SourceEntry], *, write: bool
) -> list[Row]:
    return [row async for row in inside.rows(_by_phase(entries, False), write=write)]


async def _undo_rows(host: Host, journal: MigrationJournal, rows: Sequence[Row]) -> list[Row]:
    return [row async for row in ImportRun(host, "", None, journal).undo_rows(rows)]


def _backup(home: Path) -> str:
    try:
        made = jsonlib.loads(run_hookline(home, "backup", "create", "--json"))
    except (HooklineError, ValueError) as error:
        raise CommandError(
            f"backup failed, nothing was imported ({error}). Add --no-backup to import without one",
            FAILED,
        ) from None
    return str(made["file"])


def _say_next_steps(rows: Sequence[Row], source: str, backup: str) -> None:
    kinds = {row["kind"] for row in rows if row["state"] == "migrated"}
    steps = {
        "job": "Run `hookline cron list`, and resume the jobs you want",
        "person": "Run `hookline pairing list`, then `hookline pairing approve PERSON`",
        "server": "Run `hookline mcp approve NAME` to review and approve a server's tools",
    }
    _say("")
    if backup:
        _say(f"Your home was backed up to {_short(Path(backup))}")
    for kind, step in steps.items():
        if kind in kinds:
            _say(step)
    _say(f"`hookline migrate undo {source}` undoes this")


def _short(path: Path) -> str:
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
