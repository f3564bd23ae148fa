"""Which plugins another plugin requires, and whether ``config.yaml`` has them on."""

from __future__ import annotations

from collections.abc import Mapping

from hookline_hookspecs import Configuration

from .plugin_names import installed_entry_points, kind_of


def missing_dependencies(core: Configuration, name: str) -> list[str]:
    """The plugins that an installed plugin requires and that ``config.yaml`` does not have on.

    Raises ``HooklineError`` if ``config.yaml`` cannot be read. A plugin that cannot be imported
    has no missing dependencies: its next start reports what is wrong with it.
    """
    plugins = core.effective()["plugins"]
    on = {kind_of(one) for one, settings in plugins.items() if _is_on(settings)}
    return [plugin for plugin in _required(name) if plugin != kind_of(name) and plugin not in on]


def dependents(core: Configuration, name: str) -> list[str]:
    """The plugins that are on in ``config.yaml`` and require this one, sorted.

    Raises ``HooklineError`` if ``config.yaml`` cannot be read.
    """
    plugins = core.effective()["plugins"]
    on = [plugin for plugin in plugins if _is_on(plugins[plugin])]
    if any(kind_of(plugin) == kind_of(name) for plugin in on if plugin != name):
        return []  # another plugin of the kind stays on
    return sorted(plugin for plugin in on if kind_of(name) in _required(plugin))


def dependents_warning(core: Configuration, name: str) -> str:
    """A warning about plugins that need the one that was turned off; empty if none does."""
    needed_by = dependents(core, name)
    if not needed_by:
        return ""
    verb = "needs" if len(needed_by) == 1 else "need"
    return (
        f"{' and '.join(needed_by)} {verb} {name} and will not start without it. "
        f"Turn {'it' if len(needed_by) == 1 else 'them'} off with "
        f"`hookline plugins disable {' '.join(needed_by)}`"
    )


def _required(name: str) -> tuple[str, ...]:
    try:
        return tuple(next(iter(installed_entry_points(name))).load().requires)
    except Exception:
        return ()


def _is_on(settings: object) -> bool:
    if isinstance(settings, Mapping):
        return settings.get("enabled", True) is True
    return settings is True
