"""The commands. Neither sets plugins up in a store that is being copied."""

from __future__ import annotations

import asyncio
import json as jsonlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import typer
from hookline_hookspecs import Host
from hookline_hookspecs.cli import command_line
from hookline_hookspecs.drivers import Store
from hookline_hookspecs.inspection import Inspection

from .components import CORE, PLUGIN, STORAGE, bring_up
from .copying import Copied, StoreCopy
from .places import store_at
from .tables import queries


class Commands:
    """One method for each command."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def migrate(self, json: bool = False) -> None:
        """Bring the tables of core and of every plugin that is on up to date, and say what was
        done. Other commands do the same for what they need, when they need it."""
        before = asyncio.run(self._steps())
        after, location = command_line().run(lambda plugin: self._bring_up(plugin.host))
        done = {name: count - before.get(name, 0) for name, count in sorted(after.items())}
        if json:
            _say(jsonlib.dumps({"store": location, "steps": done}))
            return
        for name, count in done.items():
            if count:
                _say(f"{name}: {_counted(count, 'step')}")
        total = sum(done.values())
        told = f"{_counted(total, 'step')} made" if total else "nothing was to be done"
        _say(f"{location} is up to date: {told}, {_counted(len(done), 'component')}.")

    def copy(self, source: str, target: str, json: bool = False) -> None:
        """Copy every row into another store and compare both. FROM stays as it is. If it is killed,
        the same command goes on where it was. TO has to be empty, or half of this copy."""
        home = self._host.home
        both = store_at(source, home), store_at(target, home)
        copy = StoreCopy(*both, home, lambda text: None if json else _say(text))
        copied = asyncio.run(copy.run())
        places = [str(store.location()) for store in both]
        _say(jsonlib.dumps(_as_dict(copied, *places)) if json else _told(copied, *places))

    async def _steps(self) -> dict[str, int]:
        async with _opened(store_at(self._host.config.store, self._host.home)) as store:
            return await _counts(store)

    async def _bring_up(self, host: Host) -> tuple[dict[str, int], str]:
        store = host.services[Store]
        plugins = await host.services[Inspection].plugins()
        on = [PLUGIN + row["name"] for row in plugins if row["state"] == "on"]
        for component in (CORE, STORAGE, *on):
            await bring_up(store, component, host.home)
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


def _say(text: str) -> None:
    typer.echo(text)
