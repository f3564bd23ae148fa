"""``hookline skills …``: the arguments as Typer reads them, and what each command prints.

Imported when the command line is built, because of Typer.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import json as jsonlib
from pathlib import Path
from typing import Annotated, Any

import typer
from hookline_hookspecs import HooklineError
from hookline_hookspecs.hooks.boot import RegisterCli

from .parts import Parts
from .team.commands import register_team

Json = Annotated[bool, typer.Option("--json", help="JSON.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="The skill.")]
SPEC = "A folder, an archive, or an https address; of git, a branch or tag follows #."
FAILED = 1


def register_all(parts: Parts, register: RegisterCli) -> None:
    """Register the commands of the group ``hookline skills``."""
    named = Commands(parts)
    for name, run, text in (
        ("list", named.overview, "List all skills: author, uses, warnings."),
        ("show", named.show, "One skill: its text, files, uses and versions."),
        ("history", named.history, "List the versions of a skill and their origins."),
        ("validate", named.validate, "Judge a skill's folder by the rules of agentskills.io."),
        ("install", named.install, "Install from a folder, an archive or an https git address."),
        ("archive", named.archive, "Archive a skill; restore brings it back."),
        ("restore", named.restore, "Bring back an archived skill, or a version of one."),
        ("pin", named.pin, "Keep a skill from being changed by the agent or archived."),
        ("unpin", named.unpin, "Unpin a skill."),
    ):
        register(f"skills {name}", run, help=text)
    register_team(parts, register)


class Commands:
    """One method for each command, called by its name; ``overview`` is ``skills list``."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def overview(self, json: Json = False) -> None:
        """Every skill, archived ones last."""
        from .overview import overview

        rows = await overview(self._parts)
        if json:
            _print(jsonlib.dumps(rows, ensure_ascii=False))
            return
        for row in rows:
            _print(_line(row))
        for name, reason in self._parts.library.left_out().items():
            _print(f"{name}: left out: {reason}")
        if not rows:
            _print("There are no skills yet.")

    async def show(
        self,
        name: Name,
        version: Annotated[int | None, typer.Option(help="As it was in this version.")] = None,
        json: Json = False,
    ) -> None:
        """The text of a skill and what is known of it."""
        from .overview import details

        found = await self._or_fail(details(self._parts, name, version))
        if json:
            _print(jsonlib.dumps(found, ensure_ascii=False))
            return
        for key in ("origin", "pinned", "uses", "last_used", "versions", "source"):
            _print(f"{key}: {_shown(found[key])}")
        for sentence in (*found["problems"], *found["changes"]):
            _print(f"note: {sentence}")
        _print(f"files: {', '.join(found['files']) or 'none besides SKILL.md'}\n\n{found['text']}")

    async def history(self, name: Name, json: Json = False) -> None:
        """The kept versions, oldest first."""
        versions = await self._parts.history.versions(name)
        rows: list[dict[str, Any]] = [
            {"version": v.number, "action": v.action, "author": v.author, "at": v.at,
             "session": v.session_id, "turn": v.turn_id, "files": sorted(v.files)}
            for v in versions
        ]  # fmt: skip
        if json:
            _print(jsonlib.dumps(rows, ensure_ascii=False))
        elif not rows:
            _fail(f"nothing was recorded of a skill {name!r}")
        else:
            for row in rows:
                _print(_version_line(row))

    def validate(
        self,
        folder: Annotated[Path, typer.Argument(metavar="DIR", help="The skill's folder.")],
        json: Json = False,
    ) -> None:
        """The verdict; exit code 1 on errors."""
        from . import lock
        from .validation import validate

        folder = folder.absolute()
        folder = folder.parent if folder.name.lower() == "skill.md" and folder.is_file() else folder
        verdict = validate(folder)
        changed = lock.changes(folder.parent, folder.name) if folder.is_dir() else []
        warnings = [*verdict.warnings, *(f"since it was installed, {one}" for one in changed)]
        if json:
            found = {"ok": verdict.ok, "errors": list(verdict.errors), "warnings": warnings}
            _print(jsonlib.dumps(found, ensure_ascii=False))
        else:
            for kind, sentences in (("error", verdict.errors), ("warning", warnings)):
                for sentence in sentences:
                    _print(f"{kind}: {sentence}")
            _print("Valid." if verdict.ok else f"Not valid: {folder}")
        if not verdict.ok:
            raise SystemExit(FAILED)

    async def install(
        self,
        source: Annotated[str, typer.Argument(metavar="SPEC", help=SPEC)],
        names: Annotated[
            list[str] | None, typer.Argument(metavar="NAME…", help="Which, of several.")
        ] = None,
        replace: Annotated[bool, typer.Option("--replace", help="Replace what is there.")] = False,
        lenient: Annotated[bool, typer.Option("--lenient", help="Although not valid.")] = False,
    ) -> None:
        """Fetch into quarantine, validate, scan, place, and note the hashes; runs nothing."""
        from .installing import Installer, Wish

        parts = self._parts
        await asyncio.to_thread(parts.library.root.mkdir, 0o700, True, True)
        installer = Installer(parts.host, parts.library, parts.history, parts.editor)
        wish = Wish(source, tuple(names or ()), replace, lenient)
        for name in await self._or_fail(installer.install(wish)):
            _print(f"Installed the skill {name}.")

    async def archive(self, name: Name) -> None:
        """Put a skill away."""
        from .keeping import put_away

        await self._or_fail(put_away(self._parts, name))
        _print(f"Archived the skill {name}; `hookline skills restore {name}` brings it back.")

    async def restore(
        self, name: Name, version: Annotated[int | None, typer.Argument(metavar="VERSION")] = None
    ) -> None:
        """Bring a skill back from the archive, or as it was in a version."""
        from .keeping import restore

        _print(await self._or_fail(restore(self._parts, name, version)))

    async def pin(self, name: Name) -> None:
        """Keep a skill as it is."""
        skill = self._parts.library.find(name)
        if skill is None:
            _fail(f"there is no skill {name!r}")
            return
        await self._parts.records.pin(skill.name)
        _print(f"Pinned {skill.name}.")

    async def unpin(self, name: Name) -> None:
        """Unpin a skill."""
        await self._parts.records.unpin(name)
        _print(f"Not pinned: {name}.")

    async def _or_fail(self, work: Any) -> Any:
        try:
            return await work
        except (HooklineError, LookupError, OSError) as error:
            _fail(str(error))


def _line(row: dict[str, Any]) -> str:
    marks = [row["origin"], f"used {row['uses']}×"]
    marks += [f"last {_time(row['last_used'])}"] if row["last_used"] else []
    marks += [one for one in ("pinned", "archived") if row[one]]
    marks += [f"since it was installed, {change}" for change in row["changes"]]
    marks += row["problems"]
    return f"{row['name']} ({'; '.join(marks)}): {row['description']}"


def _version_line(row: dict[str, Any]) -> str:
    where = f", session {row['session']}, turn {row['turn']}" if row["session"] else ""
    return f"{row['version']}  {_time(row['at'])}  {row['action']} by {row['author']}{where}"


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return _time(value)
    return "-" if value in (None, "") else str(value)


def _time(at: float) -> str:
    return dt.datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M")


def _print(text: str) -> None:
    typer.echo(text)


def _fail(text: str) -> None:
    typer.echo(text, err=True)
    raise SystemExit(FAILED)
