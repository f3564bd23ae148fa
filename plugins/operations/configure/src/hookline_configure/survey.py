"""What there is to know of every plugin, installed or not, for the pages."""

from __future__ import annotations

from collections import Counter
from importlib.metadata import entry_points
from typing import Any

from hookline_hookspecs import Configuration, HooklineError, Host, Inspection
from hookline_hookspecs.setting_errors import MISSING, setting_errors
from pydantic import BaseModel, ValidationError

from .clone import is_there
from .kinds import installed, kind_of
from .switches import known_plugins


class Survey:
    """Reads core's state and the installed packages."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def plugins(self) -> list[dict[str, Any]]:
        """Return every plugin: ``name state reason hooks summary version dist installed``.

        Those in config.yaml come first, in call order, then those that are installed, then those
        of Hookline that are not.
        """
        known = {row["name"]: row for row in await self._host.services[Inspection].plugins()}
        points = {point.name: point for point in entry_points(group="hookline.plugins")}
        absent = {one for one in known_plugins() - points.keys() if not is_there(f"hookline-{one}")}
        names = [*known, *sorted(points.keys() - known.keys()), *sorted(absent - known.keys())]
        return [_described(name, known.get(name), points.get(kind_of(name))) for name in names]

    async def one(self, name: str) -> dict[str, Any] | None:
        """Return the same of one plugin, or None."""
        return next((row for row in await self.plugins() if row["name"] == name), None)

    async def tokens(self) -> Counter[str]:
        """Return what each plugin adds to a new session's prompt, in estimated tokens."""
        stable = await self._host.services[Inspection].prompt(None)
        found: Counter[str] = Counter()
        if stable is not None:
            for plugin, _, text in stable.parts:
                found[plugin] += -(-len(text) // 4)
            for plugin in {*stable.owners.values()}:
                found[plugin] += self._tools(plugin)
        return found

    def _tools(self, plugin: str) -> int:
        details = self._host.services[Inspection].plugin_details(plugin)
        return sum(-(-len(schema) // 4) for _, schema in details.get("tools", ()))

    def schema(self, name: str) -> dict[str, Any]:
        """Return the JSON schema of a plugin's settings; empty if it has none or cannot be
        imported. Of all plugins that are off, this one alone is imported."""
        found = self._host.services[Inspection].plugin_details(name).get("schema")
        if found:
            return dict(found)
        model = _config_class(name)
        return model.model_json_schema() if model is not None else {}

    def needs(self, name: str) -> list[str]:
        """Return the settings without which a plugin cannot be on, and that are not there."""
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
                ".".join(map(str, one["loc"])) for one in error.errors() if one["type"] == "missing"
            ]
        return []

    def faults(self, name: str, text: str) -> dict[str, str]:
        """Return what a plugin would refuse of its settings in a text of config.yaml, by key."""
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
        """Return the command that installs one of Hookline's own plugins here."""
        from .environment import install_command

        if entry_points(group="hookline.plugins", name="installer"):
            return f"hookline plugins enable {name}"
        return install_command(name)


def _described(name: str, row: dict[str, Any] | None, point: Any) -> dict[str, Any]:
    dist = point.dist if point is not None else None
    meta: Any = dist.metadata if dist is not None else {}
    summary = str(meta.get("Summary") or "").removeprefix("Hookline plugin: ")
    off = {"name": name, "state": "off", "reason": "", "hooks": [], "warnings": []}
    about = {
        "summary": summary if summary.startswith("hookline ") else _begun(summary),
        "version": meta.get("Version"),
        "dist": meta.get("Name"),
        "installed": point is not None,
    }
    if row is None and point is None:
        off["state"], off["reason"] = "not installed", ""
    return {**off, **(row or {}), **about}


def _begun(text: str) -> str:
    """A text that begins with a capital letter."""
    return text[:1].upper() + text[1:]


def _config_class(name: str) -> type[BaseModel] | None:
    try:
        found: type[BaseModel] = next(iter(installed(name))).load().config_class
    except Exception:  # not installed, or it cannot be imported: its state says so
        return None
    return found
