"""Name, state, settings and cost of every plugin, installed or not, for the pages."""

from __future__ import annotations

from collections import Counter
from importlib.metadata import entry_points
from typing import Any

from hookline_hookspecs import Configuration, HooklineError, Host, Inspection
from hookline_hookspecs.setting_errors import MISSING, setting_errors
from pydantic import BaseModel, ValidationError

from .plugin_names import installed_entry_points, kind_of, known_plugins
from .source_clone import is_dist_installed


class PluginCatalog:
    """Combines core's state with the metadata of installed packages."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def plugins(self) -> list[dict[str, Any]]:
        """Return every plugin: ``name state reason hooks summary version dist installed``.

        Plugins in config.yaml come first, in call order, then other installed ones, then plugins of
        Hookline's own that are not installed.
        """
        known = {row["name"]: row for row in await self._host.services[Inspection].plugins()}
        points = {point.name: point for point in entry_points(group="hookline.plugins")}
        absent = {
            one
            for one in known_plugins() - points.keys()
            if not is_dist_installed(f"hookline-{one}")
        }
        names = [*known, *sorted(points.keys() - known.keys()), *sorted(absent - known.keys())]
        return [_plugin_row(name, known.get(name), points.get(kind_of(name))) for name in names]

    async def find(self, name: str) -> dict[str, Any] | None:
        """Return one plugin's row, or None."""
        return next((row for row in await self.plugins() if row["name"] == name), None)

    async def tokens(self) -> Counter[str]:
        """Return the estimated tokens that each plugin adds to a new session's prompt."""
        stable = await self._host.services[Inspection].prompt(None)
        found: Counter[str] = Counter()
        if stable is not None:
            for plugin, _, text in stable.parts:
                found[plugin] += -(-len(text) // 4)
            for plugin in {*stable.owners.values()}:
                found[plugin] += self._tool_tokens(plugin)
        return found

    def _tool_tokens(self, plugin: str) -> int:
        details = self._host.services[Inspection].plugin_details(plugin)
        return sum(-(-len(schema) // 4) for _, schema in details.get("tools", ()))

    def schema(self, name: str) -> dict[str, Any]:
        """Return the JSON schema of a plugin's settings; empty if it has none or fails to import.

        Imports the plugin if it is off.
        """
        found = self._host.services[Inspection].plugin_details(name).get("schema")
        if found:
            return dict(found)
        model = _config_class(name)
        return model.model_json_schema() if model is not None else {}

    def missing_settings(self, name: str) -> list[str]:
        """Return the required settings of a plugin that config.yaml does not have."""
        model = _config_class(name)
        if model is None:
            return []
        core = self._host.services[Configuration]
        try:
            given = core.effective()["plugins"].get(name)
        except HooklineError:
            given = None
        try:
            written = given if isinstance(given, dict) else {}
            model.model_validate(written)
        except ValidationError as error:
            return [
                ".".join(map(str, fault["loc"]))
                for fault in error.errors()
                if fault["type"] == "missing"
            ]
        return []

    def setting_problems(self, name: str, text: str) -> dict[str, str]:
        """Return why a plugin would refuse its settings in a text of config.yaml, by key."""
        model = _config_class(name)
        if model is None:
            return {}
        try:
            given = self._host.services[Configuration].effective(text)["plugins"].get(name)
            given = given if isinstance(given, dict) else {}
            model.model_validate(given)
        except HooklineError as error:
            return {"": str(error)}
        except ValidationError as error:
            return {
                at[0] if at else "": why
                for at, why in setting_errors(error, given).items()
                if why != MISSING
            }
        return {}

    def install_command(self, name: str) -> str:
        """Return the command that installs one of Hookline's own plugins in this environment."""
        from .install_command import install_command

        if entry_points(group="hookline.plugins", name="installer"):
            return f"hookline plugins enable {name}"
        return install_command(name)


def _plugin_row(name: str, row: dict[str, Any] | None, point: Any) -> dict[str, Any]:
    dist = point.dist if point is not None else None
    meta: Any = dist.metadata if dist is not None else {}
    summary = str(meta.get("Summary") or "").removeprefix("Hookline plugin: ")
    off = {"name": name, "state": "off", "reason": "", "hooks": [], "warnings": []}
    about = {
        "summary": summary
        if summary.startswith("hookline ")
        else summary[:1].upper() + summary[1:],
        "version": meta.get("Version"),
        "dist": meta.get("Name"),
        "installed": point is not None,
    }
    if row is None and point is None:
        off["state"], off["reason"] = "not installed", ""
    return {**off, **(row or {}), **about}


def _config_class(name: str) -> type[BaseModel] | None:
    try:
        found: type[BaseModel] = next(iter(installed_entry_points(name))).load().config_class
    except Exception:  # not installed or cannot be imported: the plugin's state says so
        return None
    return found
