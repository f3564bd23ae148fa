"""``hookline db …``; imported when core builds the command line, because of Typer."""

from __future__ import annotations

import getpass
import json as jsonlib
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer
from hookline_hookspecs import CommandError, HooklineError
from hookline_hookspecs.audit import note
from hookline_hookspecs.hooks.boot import RegisterCli

from .config import Place, has_password, place_of, wrong_name
from .engines.base import Rows, query
from .results import markdown
from .underway import undo_key
from .undoing import go_back, way_from

if TYPE_CHECKING:
    from .parts import Parts
    from .underway import Underway

FAILED, USAGE = 1, 2
"""Exit codes (CONTRACT, Command line)."""
Name = Annotated[str, typer.Argument(help="The database's name in `hookline db list`.")]
Json = Annotated[bool, typer.Option("--json", help="JSON.")]


class Commands:
    """One method for each command."""

    def __init__(self, plugin: Parts, underway: Underway) -> None:
        self._plugin = plugin
        self._underway = underway

    def register(self, register: RegisterCli) -> None:
        """Register the group's commands."""
        register("db list", self.list_, help="The databases that the agent may ask.")
        register("db add", self.add, help="Let the agent ask a database.")
        register("db test", self.test, help="Connect to a database, and say what is wrong.")
        register("db grants", self.grants, help="Print the SQL that makes a safe login.")
        register("db undo", self.undo, help="Put back the rows that the last write changed.")
        register("db remove", self.remove, help="Forget a database.")

    async def list_(self, json: Json = False) -> None:
        """The databases that the agent may ask."""
        rows = [self._row(name) for name in self._plugin.config.connections]
        for why in self._plugin.left_out().values():
            sys.stderr.write(f"hookline: {why}; only this entry is left out.\n")
        if json:
            _say(jsonlib.dumps(rows, ensure_ascii=False))
            return
        for row in rows:
            _say(f"{row['name']:<16} {row['engine']:<9} {row['mode']:<10} {row['place']}")
        if not rows:
            _say("There is no database. `hookline db add NAME` adds one.")

    def _row(self, name: str) -> dict[str, Any]:
        mode = self._plugin.config.connections[name].mode
        try:
            place = self._plugin.place(name)
        except HooklineError as error:
            return {"name": name, "engine": "?", "mode": mode, "place": str(error)}
        return {"name": name, "engine": place.engine, "mode": mode, "place": place.shown}

    async def test(self, name: Name, json: Json = False) -> None:
        """Connect to a database, and say what is wrong."""
        row: dict[str, Any] = {"name": name, "ok": True}
        try:
            plugin = self._plugin
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

    def add(
        self,
        name: Annotated[str, typer.Argument(help="A name of your choice.")],
        url_stdin: Annotated[
            bool, typer.Option("--url-stdin", help="Read the URL from standard input.")
        ] = False,
        mode: Annotated[str, typer.Option(help="read-only or write.")] = "read-only",
    ) -> None:
        """Let the agent ask a database: it is told the name, never the URL."""
        if wrong := wrong_name(name):
            raise CommandError(wrong, USAGE)
        if mode not in ("read-only", "write"):
            raise CommandError("--mode is read-only or write", USAGE)
        if name in self._plugin.config.connections or name in self._plugin.left_out():
            raise CommandError(
                f"there is a database {name}; `hookline db remove {name}` first", USAGE
            )
        url = self._asked(url_stdin)
        try:
            place = place_of(url, name)
        except HooklineError as error:
            raise CommandError(str(error), USAGE) from None
        values = {"url": self._kept(name, url, place), "mode": mode}
        self._hookline(
            "config", "set", "--", f"plugins.databases.connections.{name}", jsonlib.dumps(values)
        )
        _say(f"{name} ({place.engine}, {mode}) is in config.yaml: {place.shown}")
        if not place.is_file:
            _say(f"Its login should be one of these:\n\n{_grants(place, mode)}")
        _say(f"Next: hookline db test {name}")

    async def grants(self, name: Name) -> None:
        """Print the SQL that makes a login for a database which can do no more than it needs."""
        connections = self._plugin.config.connections
        if name not in connections:
            raise CommandError(self._unknown(name), USAGE)
        place = self._plugin.place(name)
        if place.is_file:
            raise CommandError(f"{name} is a file: who may read it decides", USAGE)
        _say(_grants(place, connections[name].mode))

    async def undo(
        self, name: Name, yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False
    ) -> None:
        """Put back the rows that the last approved UPDATE or DELETE changed, as they were."""
        plugin = self._plugin
        plugin.connection(name)
        await self._underway.settle(name)
        if self._underway.settled.pop(name, "") == "not done":
            raise CommandError(
                f"the last write to {name} was not done, since its process died, so there is "
                "nothing to undo; the same command again is about the one before it",
                FAILED,
            )
        key = undo_key(name, plugin.place(name))
        if (data := await plugin.host.storage.kv.get(key)) is None:
            told = f"db_write has changed nothing in {name[:40]} that can be undone"
            raise CommandError(told, FAILED)
        way = way_from(data)
        if way.why:
            raise CommandError(f"the last write to {name} has no way back: {way.why}", FAILED)
        rows = Rows(way.columns, way.rows)
        _say(f"{way.sql}\n\nchanged these rows of {way.table}, which become again:\n")
        _say(markdown(rows, 20) + f"\n({len(way.rows):,} in all)")
        if not yes:
            if not sys.stdin.isatty():
                told = f"nobody is there to ask; `hookline db undo {name} --yes`"
                raise CommandError(told, FAILED)
            if not typer.confirm("Put them back? What others changed in them since is lost."):
                raise CommandError("nothing was changed", FAILED)
        note(plugin.host, "sql", name, "undone", detail={"sql": way.sql, "rows": len(way.rows)})
        try:
            done = await plugin.run(name, lambda e, stop: go_back(e, way, plugin.limits, stop))
        except HooklineError as error:
            raise CommandError(f"{name}: {error}", FAILED) from None
        await plugin.host.storage.kv.delete(key)
        _say(f"{done:,} row{'' if done == 1 else 's'} of {way.table} are as they were.")

    def _kept(self, name: str, url: str, place: Place) -> str:
        """What config.yaml says of the URL: one with a password is kept in the vault."""
        if place.is_file or not has_password(url):
            return url
        try:
            self._hookline("vault", "set", "--", f"db/{name}", given=url)
        except CommandError as error:
            raise CommandError(
                f"a URL with a password is kept in the vault, which did not take it: {error}\n"
                "Nothing was changed. `hookline plugins enable vault` switches a vault on",
                FAILED,
            ) from None
        _say(f"The URL is in the vault as db/{name}.")
        return f"vault:db/{name}"

    def _asked(self, url_stdin: bool) -> str:
        if url_stdin:
            url = sys.stdin.readline().strip()
        elif sys.stdin.isatty():
            _say("sqlite:///PATH, duckdb:///PATH, postgresql://USER:PASSWORD@HOST/NAME, mysql://…")
            url = getpass.getpass("URL (not shown): ").strip()
        else:
            raise CommandError("nobody is here to be asked; give the URL with --url-stdin", USAGE)
        if not url:
            raise CommandError("no URL was given; nothing was changed", USAGE)
        return url

    def remove(self, name: Name) -> None:
        """Forget a database; the database itself stays as it is."""
        if name not in {**self._plugin.config.connections, **self._plugin.left_out()}:
            raise CommandError(self._unknown(name), USAGE)
        self._hookline("config", "unset", "--", f"plugins.databases.connections.{name}")
        _say(f"{name} is forgotten.")

    def _unknown(self, name: str) -> str:
        if why := self._plugin.left_out().get(name):
            return f"database {name} is left out: {why}"
        known = ", ".join(self._plugin.config.connections) or "none"
        return f"there is no database {name[:40]}; there are: {known}"

    def _hookline(self, *words: str, given: str = "") -> None:
        """Run another command, such as the one that keeps config.yaml's comments.

        Only a ``def`` command may: what opens a runtime may start no other that administers it.
        """
        done = subprocess.run(
            [sys.executable, "-P", "-m", "hookline", *words],
            env=os.environ | {"HOOKLINE_HOME": str(self._plugin.host.home)},
            input=given,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        if done.returncode:
            raise CommandError(done.stderr.strip().removeprefix("hookline: "), FAILED)


def _grants(place: Place, mode: str) -> str:
    """SQL for whoever keeps the database; names that are no plain words are for them to quote."""
    database = place.shown.rpartition("/")[2] or "DATABASE"
    text = query(place.engine, f"grants_{mode.replace('-', '_')}")
    return text.replace("{database}", database).strip()


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
