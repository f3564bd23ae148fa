"""Manage the databases that the agent may query.

``hookline db``.
"""

from __future__ import annotations

import getpass
import json as jsonlib
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer
from hookline_hookspecs import CommandError, HooklineError
from hookline_hookspecs.audit import note
from hookline_hookspecs.cli import confirm, run_hookline, with_plugin

from .config import DatabaseLocation, has_password, location_from_url, wrong_name
from .engines.base import ResultRows, query
from .pending_writes import undo_key
from .results import markdown_table
from .undo import restore_rows, undo_record_from

if TYPE_CHECKING:
    from .plugin import Databases

FAILED, USAGE = 1, 2
"""Exit codes."""
Name = Annotated[str, typer.Argument(help="The database's name, from `hookline db list`.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

app = typer.Typer(no_args_is_help=True)


@app.command("list")
@with_plugin
async def list_databases(plugin: Databases, json: Json = False) -> None:
    """List the databases that the agent may query."""
    rows = [_row(plugin, name) for name in plugin.config.connections]
    for why in plugin.left_out().values():
        sys.stderr.write(f"hookline: {why}; only this entry is skipped.\n")
    if json:
        _say(jsonlib.dumps(rows, ensure_ascii=False))
        return
    for row in rows:
        _say(f"{row['name']:<16} {row['engine']:<9} {row['mode']:<10} {row['place']}")
    if not rows:
        _say("There are no databases. Run `hookline db add NAME` to add one.")


def _row(plugin: Databases, name: str) -> dict[str, Any]:
    mode = plugin.config.connections[name].mode
    try:
        location = plugin.location(name)
    except HooklineError as error:
        return {"name": name, "engine": "?", "mode": mode, "place": str(error)}
    return {"name": name, "engine": location.engine, "mode": mode, "place": location.display}


@app.command("test")
@with_plugin
async def check(plugin: Databases, name: Name, json: Json = False) -> None:
    """Connect to a database and report any problems."""
    row: dict[str, Any] = {"name": name, "ok": True}
    try:
        row["server"] = await plugin.run(name, lambda e, stop: e.probe(plugin.limits, stop))
    except HooklineError as error:
        row |= {"ok": False, "error": str(error)}
    if json:
        _say(jsonlib.dumps(row, ensure_ascii=False))
    elif row["ok"]:
        _say(f"{name} answers: {row['server']}")
    if not row["ok"]:
        if json:
            raise typer.Exit(FAILED)
        raise CommandError(f"{name}: {row['error']}", FAILED)


@app.command("add")
@with_plugin
def add(
    plugin: Databases,
    name: Annotated[str, typer.Argument(help="A name of your choice.")],
    url_stdin: Annotated[
        bool, typer.Option("--url-stdin", help="Read the URL from standard input.")
    ] = False,
    mode: Annotated[str, typer.Option(help="read-only or write.")] = "read-only",
) -> None:
    """Add a database. The agent sees its name, never its URL."""
    if wrong := wrong_name(name):
        raise CommandError(wrong, USAGE)
    if mode not in ("read-only", "write"):
        raise CommandError("--mode must be read-only or write", USAGE)
    if name in plugin.config.connections or name in plugin.left_out():
        raise CommandError(
            f"there is already a database {name}. Run `hookline db remove {name}` first", USAGE
        )
    url = _read_url(url_stdin)
    try:
        location = location_from_url(url, name)
    except HooklineError as error:
        raise CommandError(str(error), USAGE) from None
    values = {"url": _store_url(name, url, location), "mode": mode}
    run_hookline(
        "config", "set", "--", f"plugins.databases.connections.{name}", jsonlib.dumps(values)
    )
    _say(f"{name} ({location.engine}, {mode}) is in config.yaml: {location.display}")
    if not location.is_file:
        _say(f"Create its login with one of these:\n\n{_grants(location, mode)}")
    _say(f"Next: hookline db test {name}")


@app.command("grants")
@with_plugin
async def grants(plugin: Databases, name: Name) -> None:
    """Print SQL that creates a login with the least privileges."""
    connections = plugin.config.connections
    if name not in connections:
        raise CommandError(_unknown(plugin, name), USAGE)
    location = plugin.location(name)
    if location.is_file:
        raise CommandError(f"{name} is a file; its file permissions decide", USAGE)
    _say(_grants(location, connections[name].mode))


@app.command("undo")
@with_plugin
async def undo(
    plugin: Databases,
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Restore the rows changed by the last approved UPDATE or DELETE."""
    plugin.connection(name)
    await plugin.write_tool.pending.settle(name)
    if plugin.write_tool.pending.settled.pop(name, "") == "not done":
        raise CommandError(
            f"the last write to {name} did not happen because its process died, so there is "
            "nothing to undo. Run the command again for the write before it",
            FAILED,
        )
    key = undo_key(name, plugin.location(name))
    if (data := await plugin.host.storage.kv.get(key)) is None:
        message = f"no write to {name[:40]} that can be undone"
        raise CommandError(message, FAILED)
    record = undo_record_from(data)
    if record.why:
        raise CommandError(f"the last write to {name} cannot be undone: {record.why}", FAILED)
    rows = ResultRows(record.columns, record.rows)
    _say(f"{record.sql}\n\nchanged these rows of {record.table}. They would be restored to:\n")
    _say(markdown_table(rows, 20) + f"\n({len(record.rows):,} in all)")
    question = "Restore them? Later changes by others are lost."
    if not yes and not confirm(question):
        raise CommandError("nothing was changed", FAILED)
    note(plugin.host, "sql", name, "undone", detail={"sql": record.sql, "rows": len(record.rows)})
    try:
        done = await plugin.run(name, lambda e, stop: restore_rows(e, record, plugin.limits, stop))
    except HooklineError as error:
        raise CommandError(f"{name}: {error}", FAILED) from None
    await plugin.host.storage.kv.delete(key)
    _say(f"Restored {done:,} row{'' if done == 1 else 's'} of {record.table}.")


def _store_url(name: str, url: str, location: DatabaseLocation) -> str:
    """Return the URL for config.yaml; one with a password is stored in the vault."""
    if location.is_file or not has_password(url):
        return url
    try:
        run_hookline("vault", "set", "--", f"db/{name}", input=url)
    except CommandError as error:
        raise CommandError(
            f"the URL has a password, and the vault could not store it: {error}\n"
            "Nothing was changed. Run `hookline plugins enable vault` to switch the vault on",
            FAILED,
        ) from None
    _say(f"The URL is stored in the vault as db/{name}.")
    return f"vault:db/{name}"


def _read_url(url_stdin: bool) -> str:
    if url_stdin:
        url = sys.stdin.readline().strip()
    elif sys.stdin.isatty():
        _say("sqlite:///PATH, duckdb:///PATH, postgresql://USER:PASSWORD@HOST/NAME, mysql://…")
        url = getpass.getpass("URL (not shown): ").strip()
    else:
        raise CommandError(
            "there is no terminal to ask on. Pipe the URL in with --url-stdin", USAGE
        )
    if not url:
        raise CommandError("no URL was given; nothing was changed", USAGE)
    return url


@app.command("remove")
@with_plugin
def remove(plugin: Databases, name: Name) -> None:
    """Remove a database from config.yaml. Its contents are not touched."""
    if name not in {**plugin.config.connections, **plugin.left_out()}:
        raise CommandError(_unknown(plugin, name), USAGE)
    run_hookline("config", "unset", "--", f"plugins.databases.connections.{name}")
    _say(f"Removed {name}.")


def _unknown(plugin: Databases, name: str) -> str:
    if why := plugin.left_out().get(name):
        return f"database {name} is not used: {why}"
    known = ", ".join(plugin.config.connections) or "none"
    return f"there is no database {name[:40]}. Known databases: {known}"


def _grants(location: DatabaseLocation, mode: str) -> str:
    """Return SQL for the database's administrator; unusual names need quotes."""
    database = location.display.rpartition("/")[2] or "DATABASE"
    text = query(location.engine, f"grants_{mode.replace('-', '_')}")
    return text.replace("{database}", database).strip()


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
