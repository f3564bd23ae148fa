"""Trust the programs and settings in a folder.

``hookline trust [DIR]``.
"""

from __future__ import annotations

import json as jsonlib
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.cli import command_line, confirm
from hookline_hookspecs.errors import CommandError
from hookline_hookspecs.folder_trust import TRUST, FolderContent, FolderTrust
from hookline_hookspecs.questions import Questions

from hookline.questions.folder_trust import HANDLER, MAX_LINES, content_lines, folder_contents

if TYPE_CHECKING:
    from hookline.runtime import Runtime

    from .command_line import CoreCommandLine


def trust(
    folder: Annotated[
        Path, typer.Argument(metavar="[DIR]", help="The folder; by default the current one.")
    ] = Path(),
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    revoke: Annotated[bool, typer.Option("--revoke", help="Trust it no longer.")] = False,
    list_all: Annotated[bool, typer.Option("--list", help="List the trusted folders.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Show what a folder would run or set, and trust it.

    Trust covers this folder alone, with what it holds now: after a change it has to be trusted
    again. It takes effect in the next session.
    """
    line = cast("CoreCommandLine", command_line())
    line.warns_of_untrusted = False  # this command shows it
    if list_all:
        line.open(lambda runtime: _list(runtime, json=json))
        return
    path = folder.expanduser().resolve()
    if not path.is_dir() and not revoke:
        raise CommandError(f"{folder} is not a folder.")
    if revoke:
        line.open(lambda runtime: _revoke(runtime, path, json=json))
        return
    contents = line.open(lambda runtime: _contents(runtime, path))
    if not contents:
        typer.echo(_result(path, "nothing", [], json=json))
        return
    if not json or not yes:
        typer.echo(describe(path, contents), err=json)
    if not yes and not confirm(f"Trust {path} with this?"):
        raise CommandError("Nothing was changed.", 1)
    line.open(lambda runtime: _trust(runtime, path, contents))
    typer.echo(_result(path, "trusted", contents, json=json))


def describe(folder: Path, contents: list[FolderContent]) -> str:
    """Return what the person decides by."""
    lines = content_lines(contents)
    if len(lines) > MAX_LINES:
        lines = [*lines[:MAX_LINES], f"… and {len(lines) - MAX_LINES} more"]
    return "\n".join([f"{folder} holds:", *(f"  {line}" for line in lines)])


async def _contents(runtime: Runtime, folder: Path) -> list[FolderContent]:
    return folder_contents(runtime.engine, folder)


async def _trust(runtime: Runtime, folder: Path, contents: list[FolderContent]) -> None:
    runtime.engine.services[FolderTrust].trust(folder, contents)
    questions = runtime.engine.services[Questions]
    await questions.close_about(HANDLER, str(folder), TRUST, TERMINAL)


async def _revoke(runtime: Runtime, folder: Path, *, json: bool) -> None:
    if not runtime.engine.services[FolderTrust].revoke(folder):
        raise CommandError(f"{folder} was not trusted.", 1)
    typer.echo(_result(folder, "untrusted", [], json=json))


async def _list(runtime: Runtime, *, json: bool) -> None:
    folders = runtime.engine.services[FolderTrust].folders()
    if json:
        rows = [{"folder": str(one.path), "since": one.since} for one in folders]
        typer.echo(jsonlib.dumps(rows, ensure_ascii=False))
        return
    for one in folders:
        typer.echo(f"{one.path}  since {datetime.fromtimestamp(one.since):%Y-%m-%d %H:%M}")
    if not folders:
        typer.echo("No folder is trusted.")


def _result(folder: Path, state: str, contents: list[FolderContent], *, json: bool) -> str:
    if json:
        kinds = [content.kind for content in contents]
        row = {"folder": str(folder), "state": state, "kinds": kinds}
        return jsonlib.dumps(row, ensure_ascii=False)
    return {
        "nothing": f"{folder} has nothing that would need your trust.",
        "trusted": f"{folder} is trusted from the next session on.",
        "untrusted": f"{folder} is no longer trusted, from the next session on.",
    }[state]
