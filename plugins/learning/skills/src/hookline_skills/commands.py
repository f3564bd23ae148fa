"""List, install and manage skills.

``hookline skills``; :mod:`.team.commands` adds the commands for a team.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import json as jsonlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from hookline_hookspecs import HooklineError
from hookline_hookspecs.cli import with_plugin

from .team.commands import app as team_app

if TYPE_CHECKING:
    from .plugin import Skills


Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="The skill's name.")]
SPEC = "A folder, an archive or an https URL. A Git URL may end in #BRANCH or #TAG."
EXIT_FAILED = 1


app = typer.Typer(no_args_is_help=True)
app.add_typer(team_app)


@app.command("list")
@with_plugin
async def list_skills(plugin: Skills, json: Json = False) -> None:
    """List skills with author, uses and warnings, archived ones last."""
    from .overview import overview

    rows = await overview(plugin.parts)
    if json:
        _print(jsonlib.dumps(rows, ensure_ascii=False))
        return
    for row in rows:
        _print(_line(row))
    library = plugin.parts.library
    for name, reason in {**library.left_out(), **library.nested_folders()}.items():
        _print(f"{name}: cannot be used: {reason}")
    if not rows:
        _print("No skills yet.")


@app.command("show")
@with_plugin
async def show(
    plugin: Skills,
    name: Name,
    version: Annotated[int | None, typer.Option(help="Show this version.")] = None,
    json: Json = False,
) -> None:
    """Show a skill: its text, files, uses and versions."""
    from .overview import details

    found = await _or_fail(details(plugin.parts, name, version))
    if json:
        _print(jsonlib.dumps(found, ensure_ascii=False))
        return
    for key in ("origin", "pinned", "uses", "last_used", "versions", "source"):
        _print(f"{key}: {_shown(found[key])}")
    for sentence in (*found["problems"], *found["changes"]):
        _print(f"note: {sentence}")
    _print(f"files: {', '.join(found['files']) or 'none besides SKILL.md'}\n\n{found['text']}")


@app.command("history")
@with_plugin
async def history(plugin: Skills, name: Name, json: Json = False) -> None:
    """List a skill's versions and their origins, oldest first."""
    versions = await plugin.parts.history.versions(name)
    rows: list[dict[str, Any]] = [
        {"version": v.number, "action": v.action, "author": v.author, "at": v.at,
         "session": v.session_id, "turn": v.turn_id, "files": sorted(v.files)}
        for v in versions
    ]  # fmt: skip
    if json:
        _print(jsonlib.dumps(rows, ensure_ascii=False))
    elif not rows:
        _fail(f"no versions of a skill {name!r}")
    else:
        for row in rows:
            _print(_version_line(row))


@app.command("validate")
def validate_folder(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The skill's folder.")],
    json: Json = False,
) -> None:
    """Check a skill folder against the agentskills.io rules. Exits with 1 on errors."""
    from . import lockfile
    from .validation import validate

    folder = folder.absolute()
    folder = folder.parent if folder.name.lower() == "skill.md" and folder.is_file() else folder
    verdict = validate(folder)
    changed = lockfile.describe_changes(folder.parent, folder.name) if folder.is_dir() else []
    warnings = [*verdict.warnings, *(f"since it was installed, {change}" for change in changed)]
    if json:
        found = {"ok": verdict.ok, "errors": list(verdict.errors), "warnings": warnings}
        _print(jsonlib.dumps(found, ensure_ascii=False))
    else:
        for kind, sentences in (("error", verdict.errors), ("warning", warnings)):
            for sentence in sentences:
                _print(f"{kind}: {sentence}")
        _print("Valid." if verdict.ok else f"Not valid: {folder}")
    if not verdict.ok:
        raise SystemExit(EXIT_FAILED)


@app.command("install")
@with_plugin
async def install(
    plugin: Skills,
    source: Annotated[str, typer.Argument(metavar="SPEC", help=SPEC)],
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME…", help="Install only these, if there are several."),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace installed skills of the same name.")
    ] = False,
    lenient: Annotated[
        bool, typer.Option("--lenient", help="Install even if validation fails.")
    ] = False,
) -> None:
    """Install skills from a folder, archive or Git URL.

    Each is validated and scanned first.
    """
    from .installer import InstallRequest, SkillInstaller

    parts = plugin.parts
    await asyncio.to_thread(parts.library.root.mkdir, 0o700, True, True)
    installer = SkillInstaller(parts.host, parts.library, parts.history, parts.editor)
    request = InstallRequest(source, tuple(names or ()), replace, lenient)
    for name in await _or_fail(installer.install(request)):
        _print(f"Installed the skill {name}.")


@app.command("archive")
@with_plugin
async def archive(plugin: Skills, name: Name) -> None:
    """Archive a skill; undo with `restore`."""
    from .archive import archive_skill

    await _or_fail(archive_skill(plugin.parts, name))
    _print(f"Archived the skill {name}. Restore it with `hookline skills restore {name}`.")


@app.command("restore")
@with_plugin
async def restore(
    plugin: Skills,
    name: Name,
    version: Annotated[
        int | None, typer.Argument(metavar="VERSION", help="Return to this version.")
    ] = None,
) -> None:
    """Restore an archived skill, or an earlier version of a skill."""
    from .archive import restore_skill

    _print(await _or_fail(restore_skill(plugin.parts, name, version)))


@app.command("pin")
@with_plugin
async def pin(plugin: Skills, name: Name) -> None:
    """Keep the agent from changing or archiving a skill."""
    skill = plugin.parts.library.find(name)
    if skill is None:
        _fail(f"no skill {name!r}")
        return
    await plugin.parts.records.pin(skill.name)
    _print(f"Pinned {skill.name}.")


@app.command("unpin")
@with_plugin
async def unpin(plugin: Skills, name: Name) -> None:
    """Unpin a skill."""
    await plugin.parts.records.unpin(name)
    _print(f"Unpinned {name}.")


async def _or_fail(work: Any) -> Any:
    try:
        return await work
    except (HooklineError, LookupError, OSError) as error:
        _fail(str(error))


def _line(row: dict[str, Any]) -> str:
    marks = [row["origin"], f"used {row['uses']}×"]
    marks += [f"last {_time(row['last_used'])}"] if row["last_used"] else []
    marks += [name for name in ("pinned", "archived") if row[name]]
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
    raise SystemExit(EXIT_FAILED)
