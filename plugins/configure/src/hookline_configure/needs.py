"""What a plugin requires of the others, and whether ``config.yaml`` has it on."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import entry_points

from hookline_hookspecs import Configuration


def lacking(core: Configuration, name: str) -> list[str]:
    """The plugins that an installed plugin requires and ``config.yaml`` does not have on.

    Raises ``HooklineError`` if ``config.yaml`` cannot be read. A plugin that cannot be imported
    lacks nothing: its next start says what is wrong with it.
    """
    plugins = core.effective()["plugins"]
    return [one for one in _required(name) if one != name and not _is_on(plugins.get(one))]


def _required(name: str) -> tuple[str, ...]:
    try:
        return tuple(next(iter(entry_points(group="hookline.plugins", name=name))).load().requires)
    except Exception:
        return ()


def _is_on(settings: object) -> bool:
    if isinstance(settings, Mapping):
        return settings.get("enabled", True) is True
    return settings is True
