"""Reloads a plugin whose code changes, for ``hookline dev``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from hookline_hookspecs import Configuration, Context, Host

NAME_VARIABLE, PATH_VARIABLE = "HOOKLINE_DEV_PLUGIN", "HOOKLINE_DEV_PATH"
"""Environment variables of the chat that ``hookline dev`` starts."""
_SKIPPED = frozenset({"__pycache__", ".git", ".venv", "venv", "node_modules"})


class PluginReloader:
    """Reloads the plugin ``name`` when a Python file at ``path`` has changed."""

    def __init__(self, host: Host, name: str, path: Path) -> None:
        self._host = host
        self._name = name
        self._path = path
        self._seen = modification_times(path)

    async def reload_if_changed(self, ctx: Context) -> None:
        """Reload the plugin if its code has changed, and tell the person."""
        now = modification_times(self._path)
        if now == self._seen:
            return
        self._seen = now
        if reason := await self._host.services[Configuration].reload(self._name):
            ctx.notify(f"{self._name} could not be reloaded: {reason}")
        else:
            ctx.notify(f"{self._name} was reloaded. /new offers the model its new tools.")


def reloader_from_environment(host: Host) -> PluginReloader | None:
    """The reloader that ``hookline dev`` asked for; None in every other process."""
    name, path = os.environ.get(NAME_VARIABLE), os.environ.get(PATH_VARIABLE)
    return PluginReloader(host, name, Path(path)) if name and path else None


def modification_times(path: Path) -> dict[str, tuple[int, int]]:
    """The modification time (ns) and size of each Python file below ``path``."""
    found: dict[str, tuple[int, int]] = {}
    for file in _python_files(path):
        try:
            status = file.stat()
        except OSError:  # an editor replaces it at this moment
            continue
        found[str(file)] = (status.st_mtime_ns, status.st_size)
    return found


def _python_files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
        return
    for folder, folders, names in os.walk(path):
        folders[:] = [one for one in folders if one not in _SKIPPED]
        yield from (Path(folder, name) for name in names if name.endswith(".py"))
