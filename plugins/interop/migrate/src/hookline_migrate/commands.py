"""``hookline migrate``: plan, apply, undo.

They are ``def`` commands: what is changed through other commands comes before a runtime is open,
whose process may start none.
"""

from __future__ import annotations

import difflib
import json as jsonlib
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from hookline_hookspecs import CommandError, HooklineError, Host
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.hooks.boot import OpenRuntime, RegisterCli

from .journal import Journal
from .moving import (
    KINDS,
    OUTSIDE,
    Inside,
    Row,
    home_is_new,
    outside,
    outside_back,
    taken,
    unfinished,
)
from .outside import hookline
from .reading import Unreadable
from .report import report, undone
from .sources import NAMES, PLACES, Options, Source, source_of
from .sources.base import Entry

FAILED, USAGE = 1, 2
"""Exit codes (CONTRACT, Command line)."""


Which = Annotated[str, typer.Argument(metavar="SOURCE", help=", ".join(NAMES))]
From = Annotated[
    Path | None, typer.Option("--from", metavar="DIR", help="Its home; else where it usually is.")
]
Only = Annotated[str, typer.Option(metavar="KIND", help=f"One kind: {', '.join(KINDS[:-2])}.")]
Secrets = Annotated[bool, typer.Option("--secrets", help="The keys of its .env, too.")]
Chat = Annotated[
    str, typer.Option(metavar="CHANNEL:ID", help="Whose portrait its USER.md is; else yours.")
]
Json = Annotated[bool, typer.Option("--json", help="JSON.")]


class Commands:
    """One method for each command."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def register(self, register: RegisterCli) -> None:
        """Register ``migrate plan|apply|undo``."""
        register("migrate plan", self.plan, help="What would be moved, and what would not.")
        register("migrate apply", self.apply, help="Back up, then move; again, it goes on.")
        register("migrate undo", self.undo, help="Take back what you have not changed since.")

    def plan(
        self,
        ctx: typer.Context,
        source: Which,
        from_: From = None,
        only: Only = "",
        secrets: Secrets = False,
        chat: Chat = TERMINAL,
        json: Json = False,
    ) -> None:
        """Show what would become of everything in another agent's home; nothing is changed."""
        found = self._source(source, from_, chat, only, secrets=secrets)
        journal = Journal(self._host.home, source)
        entries = _chosen(found, only)
        rows = list(outside(self._host, _of(entries, True), journal, secrets=secrets, write=False))
        rows += _opened(
            ctx, lambda host: _all(Inside(host, found.name, found, journal), entries, write=False)
        )
        if json:
            _say(jsonlib.dumps(rows, ensure_ascii=False))
            return
        _say(report(rows, f"{NAMES[found.name]} in {_short(found.folder.root)}"))
        if any(row["state"] == "planned" for row in rows):
            _say(f"\nNothing was changed. Next: hookline migrate apply {source}")

    def apply(
        self,
        ctx: typer.Context,
        source: Which,
        from_: From = None,
        only: Only = "",
        secrets: Secrets = False,
        chat: Chat = TERMINAL,
        no_backup: Annotated[
            bool, typer.Option("--no-backup", help="Without a backup of your home first.")
        ] = False,
        json: Json = False,
    ) -> None:
        """Move another agent's home in. What was done is not done again; a killed one goes on."""
        found = self._source(source, from_, chat, only, secrets=secrets)
        home = self._host.home
        journal = Journal(home, source)
        with journal.held():
            kept = "" if no_backup or home_is_new(home) else _backup(home)
            entries = _chosen(found, only)
            own = _of(entries, True)
            rows = list(outside(self._host, own, journal, secrets=secrets, write=True))
            rows += _opened(
                ctx,
                lambda host: _all(Inside(host, found.name, found, journal), entries, write=True),
            )
        if json:
            _say(jsonlib.dumps(rows, ensure_ascii=False))
        else:
            _say(report(rows, f"{NAMES[found.name]} in {_short(found.folder.root)}"))
            _next(rows, source, kept)
        if any(row["state"] == "error" for row in rows):
            raise SystemExit(FAILED)

    def undo(self, ctx: typer.Context, source: Which, only: Only = "", json: Json = False) -> None:
        """Remove what an apply has moved in, except what you have changed since."""
        _check_program(source)
        _check_kind(only)
        journal = Journal(self._host.home, source)
        with journal.held():
            wanted = [row for row in taken(journal) if only in ("", row["kind"])]
            rows = [row for row in unfinished(journal) if only in ("", row["kind"])]
            own = [row for row in wanted if row["kind"] in OUTSIDE]
            rest = [row for row in wanted if row["kind"] not in OUTSIDE]
            rows += outside_back(self._host, own, journal)
            if rest:
                rows += _opened(ctx, lambda host: _undone(host, journal, rest))
        if json:
            _say(jsonlib.dumps(rows, ensure_ascii=False))
        elif rows:
            _say(undone(rows, f"What came from {NAMES[source]}"))
        else:
            _say(f"Nothing of {NAMES[source]} is here.")
        if any(row["state"] == "error" for row in rows):
            raise SystemExit(FAILED)

    def _source(
        self, program: str, given: Path | None, chat: str, only: str, *, secrets: bool
    ) -> Source:
        _check_program(program)
        _check_kind(only)
        if ":" not in chat.strip(":"):
            raise CommandError(f"{chat!r} is no chat; write CHANNEL:ID, such as {TERMINAL}", USAGE)
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
        told = f"; name the program, and its folder after --from: {program} --from {name}"
    else:
        told = f"; did you mean {program}?" if near else ""
    raise CommandError(
        f"{name!r} is no program that can be moved from; there are {', '.join(programs)}{told}",
        USAGE,
    )


def _check_kind(only: str) -> None:
    if only and only not in KINDS:
        raise CommandError(f"there is no kind {only!r}; there are {', '.join(KINDS)}", USAGE)


def _chosen(source: Source, only: str) -> list[Entry]:
    return [entry for entry in source.entries() if only in ("", entry.item.kind)]


def _of(entries: Iterable[Entry], is_outside: bool) -> list[Entry]:
    return [entry for entry in entries if (entry.item.kind in OUTSIDE) is is_outside]


def _opened(ctx: typer.Context, work: Callable[[Host], Any]) -> list[Row]:
    start: OpenRuntime = ctx.obj
    rows: list[Row] = start(work)
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
            f"no backup could be made, so nothing was moved ({error}); --no-backup goes without",
            FAILED,
        ) from None
    return str(made["file"])


def _next(rows: Sequence[Row], source: str, backup: str) -> None:
    kinds = {row["kind"] for row in rows if row["state"] == "migrated"}
    steps = {
        "job": "hookline cron list shows the jobs; resume those that you want",
        "person": "hookline pairing approve PERSON lets one in whom hookline pairing list shows",
        "server": "hookline mcp approve NAME shows a server's tools and lets them be used",
    }
    _say("")
    if backup:
        _say(f"The backup of before is {_short(Path(backup))}")
    for kind, told in steps.items():
        if kind in kinds:
            _say(told)
    _say(f"hookline migrate undo {source} takes it back")


def _short(path: Path) -> str:
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
