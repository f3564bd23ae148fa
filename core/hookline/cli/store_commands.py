"""``hookline migrate-store`` and ``hookline store copy``."""

from __future__ import annotations

import asyncio
import json as jsonlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..home import environment, find_home
from .shared import with_runtime

if TYPE_CHECKING:
    from hookline_hookspecs.drivers import Store

    from ..runtime import Runtime
    from ..store.copy.copying import Copied

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
PLACE = "sqlite, a path, or postgresql://…"
PLUGIN = "plugin "


def migrate_store(json: Json = False) -> None:
    """Bring all tables of the store up to date.

    These are the tables of core and of every plugin that is on. Other commands do the same for
    what they need, when they need it.
    """
    from ..config import load

    before = asyncio.run(_steps(load(find_home(), environment()).config.store))
    after, location = with_runtime(_bring_up)
    done = {name: count - before.get(name, 0) for name, count in sorted(after.items())}
    if json:
        typer.echo(jsonlib.dumps({"store": location, "steps": done}))
        return
    for name, count in done.items():
        if count:
            typer.echo(f"{name}: {_counted(count, 'step')}")
    total = sum(done.values())
    told = f"{_counted(total, 'step')} made" if total else "nothing to do"
    typer.echo(f"{location} is up to date: {told}, {_counted(len(done), 'component')}.")


def copy_store(
    source: Annotated[str, typer.Argument(metavar="FROM", help=PLACE)],
    target: Annotated[str, typer.Argument(metavar="TO", help=PLACE)],
    json: Json = False,
) -> None:
    """Copy everything into another store, and compare both.

    FROM is not changed. If the copy is interrupted, the same command continues it. TO must be
    empty, or hold a part of this copy.
    """
    from ..store.copy.copying import StoreCopy
    from ..store.copy.places import store_at

    home = find_home()
    both = store_at(source, home), store_at(target, home)
    copied = asyncio.run(StoreCopy(*both, home, lambda text: None if json else typer.echo(text)).run())
    places = [str(store.location()) for store in both]
    typer.echo(jsonlib.dumps(_as_dict(copied, *places)) if json else _told(copied, *places))


async def _steps(url: str) -> dict[str, int]:
    from ..store.copy.places import store_at

    async with _opened(store_at(url, find_home())) as store:
        return await _counts(store)


async def _bring_up(runtime: Runtime) -> tuple[dict[str, int], str]:
    from ..store.copy.components import CORE, STORAGE, bring_up

    store = runtime.engine.store
    on = [PLUGIN + name for name in runtime.plugins.loadings if runtime.plugins.state(name) == "on"]
    for component in (CORE, STORAGE, *on):
        await bring_up(store, component, runtime.engine.home)
    return await _counts(store), str(store.location())


@asynccontextmanager
async def _opened(store: Store) -> AsyncIterator[Store]:
    await store.open()
    try:
        yield store
    finally:
        await store.close()


async def _counts(store: Store) -> dict[str, int]:
    """How many steps each component has had."""
    from ..store.copy.tables import queries

    rows = await store.read(lambda db: db.fetch(queries(store.dialect)["steps"]))
    names = [row["component"].removeprefix(PLUGIN) for row in rows]
    return {name: names.count(name) for name in names}


def _as_dict(copied: Copied, source: str, target: str) -> Mapping[str, Any]:
    tables = {name: {"rows": one.rows, "sha256": one.sha} for name, one in copied.sums.items()}
    return {"from": source, "to": target, "was_equal": copied.was_equal, "tables": tables}


def _told(copied: Copied, source: str, target: str) -> str:
    rows = sum(one.rows for one in copied.sums.values())
    what = f"{_counted(rows, 'row')} of {_counted(len(copied.sums), 'table')}"
    if copied.was_equal:
        return f"{target} holds the same as {source} already: {what}."
    done = f"Copied {what} from {source} to {target}; the hashes of all tables are equal in both."
    if "://" not in target:
        return f"{done} A home uses its file hookline.db with `store: sqlite`."
    return f"{done} To use it, say `store: {target}` in config.yaml, with the password."


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
