"""What core tells about itself (services ``Inspection`` and ``Configuration``)."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from hookline_hookspecs import HOOKS, StoreError
from hookline_hookspecs.inspection import StablePrompt

from .bus.implementation import describe
from .config import ConfigFile, effective, load
from .config.choose import absent_drivers
from .config.document import Document
from .engine import Engine
from .plugins.discovery import GROUP, hooks_of
from .plugins.loader import Loading, Plugins
from .sessions.manager import Sessions
from .sessions.prompt import tool_json


class CoreInspection:
    """Implements ``Inspection``."""

    def __init__(self, engine: Engine, sessions: Sessions, plugins: Plugins) -> None:
        self._engine = engine
        self._sessions = sessions
        self._plugins = plugins
        self._journal = engine.journal
        self.default_model = engine.providers.default_model
        self.check_model = engine.providers.check

    def hooks(self) -> Mapping[str, list[str]]:
        """Who implements each hook."""
        bus = self._engine.bus
        return {name: [impl.plugin for impl in bus.implementations(name)] for name in HOOKS}

    async def plugins(self) -> list[dict[str, Any]]:
        """Every plugin that config names or that is installed."""
        errors: dict[str, list[Mapping[str, Any]]] = {}
        with suppress(StoreError):  # no store is installed, so nothing was kept
            for row in await self._journal.plugin_errors():
                errors.setdefault(row["plugin"], []).append(row)
        dists = {ep.name: ep.dist for ep in entry_points(group=GROUP)}
        loadings = self._plugins.loadings
        known = [n for n, one in loadings.items() if n in dists or one.entry.named]
        names = dict.fromkeys([*known, *sorted(dists)])
        rows = [self._row(name, loadings.get(name), dists.get(name)) for name in names]
        for row in rows:
            row["errors"] = errors.get(row["name"], [])
            if row["errors"] and not row["reason"]:
                last = row["errors"][0]
                row["reason"] = f"last failure: {last['hook']}: {last['reason']}"
        return rows

    def _row(self, name: str, loading: Loading | None, dist: Any) -> dict[str, Any]:
        meta = dist.metadata if dist else {}  # each look at it parses the file again
        row = {"name": name, "dist": meta.get("Name"), "version": meta.get("Version")}
        if loading is None:
            reason = "installed, not named in config.yaml"
            return {**row, "kind": "third-party", "state": "off", "reason": reason, "hooks": []}
        return row | {
            "kind": "standard" if loading.entry.standard else "third-party",
            "state": loading.state,
            "reason": loading.reason,
            "hooks": hooks_of(loading.plugin) if loading.plugin else [],
            "warnings": loading.warnings,
        }

    def plugin_problems(self) -> list[str]:
        """Plugins that are not on although they should be, and settings nobody knows."""
        off, warnings = _problems(self._plugins)
        return off + warnings

    def plugin_details(self, name: str) -> dict[str, Any]:
        """What a plugin brings and its settings."""
        loading = self._plugins.loadings.get(name)
        if loading is None:
            return {}
        plugin, settings = loading.plugin, effective(self._engine.loaded).get("plugins", {})
        return {
            "tools": [(tool.name, tool_json(tool.schema)) for tool in loading.tools],
            "commands": [command.name for command in loading.commands],
            "settings": settings.get(name, {}),
            "schema": _schema(plugin.config_class) if plugin else {},
        }

    def config_problems(self) -> list[str]:
        """What is wrong with the config."""
        loaded = self._engine.loaded
        return [*loaded.warnings, *loaded.provider_errors.values()]

    def store_location(self) -> str:
        """Where the data is."""
        return str(self._engine.store.location())

    async def storage_used(self, plugin: str) -> Any:
        """What a plugin keeps."""
        return await self._engine.storage(plugin, None).usage()

    async def purge(self, plugin: str) -> None:
        """Remove everything a plugin has stored."""
        await self._engine.storage(plugin, None).purge()

    async def prompt(self, session_id: str | None) -> StablePrompt | None:
        """The stable prompt of a session, or of a new one."""
        if session_id is None:
            stable = await self._sessions.preview()
        elif (state := await self._sessions.existing(session_id)) is not None:
            stable = state.stable
        else:
            return None
        owners = {name: tool.plugin for name, tool in self._engine.tools.items()}
        return replace(stable, owners=owners)

    async def delete_session(self, session_id: str) -> None:
        """Delete a session and all that was said in it."""
        async with self._sessions.own(session_id):
            await self._journal.delete_session(session_id)


class CoreConfiguration:
    """Implements ``Configuration``; ``make_runtime`` makes a runtime of a config and a home."""

    def __init__(self, home: Path, make_runtime: Callable[..., Any]) -> None:
        self._home = home
        self._make_runtime = make_runtime

    def parse(self, text: str, key: tuple[str, ...] = ()) -> Any:
        """The values in a text."""
        return Document(".".join(key) or self._home / "config.yaml", text, key).values

    def check(self, text: str | None = None) -> tuple[list[str], list[str]]:
        """What is off because of the config, and warnings."""
        loaded = load(self._home, os.environ, text=text)
        plugins = self._make_runtime(loaded, self._home, strict=False).plugins
        plugins.load(() if text is None else loaded.plugins)
        off, warnings = _problems(plugins)
        absent = [*loaded.provider_errors.values(), *absent_drivers(loaded)]
        return absent + off, [*loaded.warnings, *warnings]

    def effective(self) -> dict[str, Any]:
        """The config in effect, masked."""
        return effective(load(self._home, os.environ))

    def schema(self) -> dict[str, Any]:
        """The JSON schema of the file."""
        return ConfigFile.model_json_schema()


def _problems(plugins: Plugins) -> tuple[list[str], list[str]]:
    """Sentences about plugins that are not on although they should be, and their warnings."""
    loadings = plugins.loadings.values()
    failed = [one for one in loadings if one.state in ("failed", "missing")]
    off = [f"plugin {one.entry.name} is not on: {one.reason}" for one in failed]
    return off, [warning for one in loadings for warning in one.warnings]


def _schema(kind: Any) -> dict[str, Any]:
    try:
        found: dict[str, Any] = kind.model_json_schema()
    except Exception as error:  # a type that JSON cannot say
        found = {"description": f"There is no schema: {describe(error)}"}
    return found
