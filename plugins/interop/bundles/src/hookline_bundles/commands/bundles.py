"""Add, list and update bundles of skills, commands and hooks.

``hookline bundles``.
"""

from __future__ import annotations

import asyncio
import json as jsonlib
from typing import TYPE_CHECKING, Annotated, Any

import typer
from hookline_hookspecs import HooklineError
from hookline_hookspecs.cli import confirm, with_plugin

if TYPE_CHECKING:
    from ..installer import Candidate
    from ..library import BundleStatus
    from ..plugin import Bundles

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="The bundle's name.")]
SPEC = "A folder, an archive, an https or git URL, OWNER/REPOSITORY or NAME@CATALOG."

app = typer.Typer(no_args_is_help=True)
catalog_app = typer.Typer(no_args_is_help=True, help="Add, list and remove catalogs of bundles.")
app.add_typer(catalog_app, name="catalog")


@app.command("add")
@with_plugin
async def add(
    plugin: Bundles,
    spec: Annotated[str, typer.Argument(metavar="SPEC", help=SPEC)],
    only: Annotated[str, typer.Option(help="Which plugin, if the source has several.")] = "",
    yes: Yes = False,
) -> None:
    """Show what a bundle can do, and add it."""
    from ..installer import BundleRequest

    async with plugin.installer.fetched(BundleRequest(spec, only)) as candidate:
        if candidate.name in plugin.library.pins.all():
            raise HooklineError(
                f"the bundle {candidate.name} is already there. "
                f"Run `hookline bundles update {candidate.name}`, or remove it first."
            )
        _print_candidate(candidate)
        if not yes and not confirm(f"Add the bundle {candidate.name}?"):
            raise HooklineError("Nothing was added.")
        await plugin.installer.place(candidate)
    await plugin.refresh()
    typer.echo(f"Added {candidate.name}. It is used from the next session on.")
    for server in candidate.bundle.servers:
        typer.echo(
            f"The MCP server {server.name} is off until you allow it: run "
            f"`hookline plugins enable mcp` and `hookline mcp approve {server.name}`."
        )


@app.command("list")
@with_plugin
async def list_bundles(plugin: Bundles, json: Json = False) -> None:
    """List the bundles, and why some are not used."""
    await asyncio.to_thread(plugin.library.refresh)
    statuses = plugin.library.statuses
    if json:
        typer.echo(jsonlib.dumps([_as_json(one) for one in statuses], ensure_ascii=False))
        return
    for one in statuses:
        counts = one.bundle.counts.items() if one.bundle is not None else ()
        parts = ", ".join(
            f"{count} {kind if count > 1 else kind.removesuffix('s')}"
            for kind, count in counts
            if count
        )
        reason = f" ({one.explanation})" if one.reason else ""
        typer.echo(f"{one.name}  {one.state}{reason}  {parts or 'no parts'}  {one.source}")
    if not statuses:
        typer.echo("No bundles yet. Run `hookline bundles add SPEC`.")


@app.command("info")
@with_plugin
async def info(plugin: Bundles, name: Name, json: Json = False) -> None:
    """Show what a bundle holds, what it can do, and what of it is not used."""
    await asyncio.to_thread(plugin.library.refresh)
    found = next((one for one in plugin.library.statuses if one.name == name), None)
    if found is None:
        raise HooklineError(f"there is no bundle {name}. Run `hookline bundles list`.")
    if json:
        typer.echo(jsonlib.dumps(_as_json(found), ensure_ascii=False))
        return
    from ..capabilities import describe

    reason = f": {found.explanation}" if found.reason else ""
    typer.echo(f"{found.name} from {found.source}\n{found.state}{reason}\nsha256 {found.sha256}")
    for line in describe(found.bundle) if found.bundle is not None else ():
        typer.echo(f"  {line}")
    changes = await asyncio.to_thread(plugin.library.changes, found)
    for line in ("what changed:", *(f"  {one}" for one in changes)) if changes else ():
        typer.echo(line)


@app.command("update")
@with_plugin
async def update(
    plugin: Bundles,
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="By default all.")] = "",
    yes: Yes = False,
) -> None:
    """Fetch bundles again, show what changes, and replace them."""
    for problem in await plugin.catalogs.refresh():
        typer.echo(f"warning: {problem}", err=True)
    known = plugin.library.pins.all()
    if name and name not in known:
        raise HooklineError(f"no bundle {name} is installed")
    failed = []
    for one in [name] if name else list(known):
        try:
            await _update_one(plugin, one, yes=yes)
        except HooklineError as error:
            failed.append(f"{one} was not updated: {error}")
    if failed:
        raise HooklineError("; ".join(failed))
    if not known:
        typer.echo("No bundles yet.")


async def _update_one(plugin: Bundles, name: str, *, yes: bool) -> None:
    from ..capabilities import describe
    from ..changes import describe_changes
    from ..installer import BundleRequest

    pin = plugin.library.pins.all()[name]
    await asyncio.to_thread(plugin.library.refresh)
    status = next(one for one in plugin.library.statuses if one.name == name)
    async with plugin.installer.fetched(BundleRequest(pin.source, pin.only)) as candidate:
        if candidate.name != name:
            raise HooklineError(f"its source is now called {candidate.name}; add that, remove this")
        if candidate.sha256 == pin.sha256 and status.state != "changed":
            typer.echo(f"{name} is up to date.")
            return
        before = describe(status.bundle) if status.bundle is not None else []
        typer.echo(f"{name} would change:")
        for line in describe_changes(
            (before, pin.files), (describe(candidate.bundle), candidate.hashes)
        ):
            typer.echo(f"  {line}")
        if not yes and not confirm(f"Update {name}?"):
            raise HooklineError("it stays as it is")
        await plugin.installer.place(candidate)
    await plugin.refresh()
    typer.echo(f"Updated {name}. It is used from the next session on.")


@app.command("remove")
@with_plugin
async def remove(plugin: Bundles, name: Name, yes: Yes = False) -> None:
    """Delete a bundle and the data that its programs stored."""
    from ..standing_guards import from_rows

    if name not in plugin.library.pins.all():
        raise HooklineError(f"no bundle {name} is installed")
    for guard in from_rows(plugin.library.pins.all()[name].guards):
        about = guard.condition or guard.matcher or "everything"
        typer.echo(f"It no longer checks {about} at {guard.event}.")
    if not yes and not confirm(f"Delete the bundle {name} with its data?"):
        raise HooklineError("Nothing was deleted.")
    await asyncio.to_thread(plugin.installer.remove, name)
    await plugin.refresh()
    typer.echo(f"Removed {name}.")


@catalog_app.command("add")
@with_plugin
async def add_catalog(
    plugin: Bundles,
    url: Annotated[str, typer.Argument(metavar="URL", help="An https address, or a file.")],
) -> None:
    """Add a catalog; the bundles that it has removed are no longer used."""
    catalog = await plugin.catalogs.add(url)
    count = len(catalog.bundles)
    typer.echo(f"Added the catalog {catalog.name} with {count} bundle{'' if count == 1 else 's'}.")
    for one in catalog.bundles:
        typer.echo(f"  {one.name}@{catalog.name}  {one.description}")


@catalog_app.command("list")
@with_plugin
async def list_catalogs(plugin: Bundles, json: Json = False) -> None:
    """List the catalogs."""
    known = plugin.catalogs.known()
    if json:
        typer.echo(jsonlib.dumps([{"name": one.name, "url": one.url} for one in known]))
        return
    for one in known:
        typer.echo(f"{one.name}  {one.url}")
    if not known:
        typer.echo("No catalogs yet.")


@catalog_app.command("remove")
@with_plugin
async def remove_catalog(plugin: Bundles, name: Name) -> None:
    """Forget a catalog; what it has removed stays removed."""
    plugin.catalogs.remove(name)
    typer.echo(f"Removed the catalog {name}.")


def _print_candidate(candidate: Candidate) -> None:
    from ..capabilities import describe

    bundle = candidate.bundle
    version = f" {bundle.version}" if bundle.version else ""
    typer.echo(f"{candidate.name}{version} ({bundle.format}): {bundle.description}".rstrip(": "))
    for line in (*describe(bundle), *candidate.notes):
        typer.echo(f"  {line}")
    typer.echo(f"  {len(candidate.hashes):,} files, sha256 {candidate.sha256}")


def _as_json(status: BundleStatus) -> dict[str, Any]:
    bundle = status.bundle
    parts: dict[str, list[str]] = {
        "skills": [one.name for one in bundle.skills] if bundle else [],
        "commands": [one.name for one in bundle.commands] if bundle else [],
        "agents": [one.name for one in bundle.agents] if bundle else [],
        "hooks": [f"{one.event}: {one.shown}" for one in bundle.hooks] if bundle else [],
        "servers": [one.name for one in bundle.servers] if bundle else [],
    }
    problems = [status.explanation] if status.reason else []
    return {
        "name": status.name,
        "source": status.source,
        "sha256": status.sha256,
        "state": status.state,
        "parts": parts,
        "problems": [*problems, *(bundle.problems if bundle else ())],
        "scope": status.scope,
        "format": bundle.format if bundle else "",
        "version": bundle.version if bundle else "",
    }
