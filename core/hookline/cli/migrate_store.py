"""Migrate the store's tables to this version.

``hookline migrate-store``.
"""

from __future__ import annotations

import asyncio
import json as jsonlib
from typing import TYPE_CHECKING, Annotated, cast

import typer
from hookline_hookspecs.cli import command_line

from hookline.home import find_home
from hookline.store.copy.components import CORE, PLUGIN, STORAGE, migrate_component
from hookline.store.copy.store_address import store_at
from hookline.store.copy.tables import queries

if TYPE_CHECKING:
    from hookline_hookspecs.drivers import Store

    from hookline.runtime import Runtime

    from .command_line import CoreCommandLine


def migrate_store(
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Migrate the store's tables to this version, with those of every enabled plugin.

    You rarely need this: other commands migrate the tables that they use.
    """
    line = cast("CoreCommandLine", command_line())
    before = asyncio.run(_current_steps(line.store_url))
    after, location = line.open(_migrate_all)
    done = {name: count - before.get(name, 0) for name, count in sorted(after.items())}
    if json:
        typer.echo(jsonlib.dumps({"store": location, "steps": done}))
        return
    for name, count in done.items():
        if count:
            typer.echo(f"{name}: {_count_text(count, 'step')}")
    total = sum(done.values())
    made = f"{_count_text(total, 'step')} applied" if total else "nothing to do"
    typer.echo(f"{location} is up to date: {made}, {_count_text(len(done), 'component')}.")


async def _current_steps(url: str) -> dict[str, int]:
    store = store_at(url, find_home())
    await store.open()
    try:
        return await _step_counts(store)
    finally:
        await store.close()


async def _migrate_all(runtime: Runtime) -> tuple[dict[str, int], str]:
    store = runtime.engine.store
    on = [PLUGIN + name for name in runtime.plugins.statuses if runtime.plugins.state(name) == "on"]
    for component in (CORE, STORAGE, *on):
        await migrate_component(store, component, runtime.engine.home)
    return await _step_counts(store), str(store.location())


async def _step_counts(store: Store) -> dict[str, int]:
    """The number of applied steps of each component."""
    rows = await store.read(lambda db: db.fetch(queries(store.dialect)["steps"]))
    names = [row["component"].removeprefix(PLUGIN) for row in rows]
    return {name: names.count(name) for name in names}


def _count_text(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
