"""Finds installed plugins by entry point, and imports and checks them."""

from __future__ import annotations

import inspect
import logging
import sys
from functools import cache
from importlib import invalidate_caches
from importlib.metadata import EntryPoint, entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from time import perf_counter
from typing import Any

from hookline_hookspecs import API, HOOKS, Plugin

from ..bus.implementation import PluginRefused

log = logging.getLogger("hookline.plugins")
GROUP = "hookline.plugins"
GUARD_GROUP = "hookline.guards"
OWN_GUARDS = frozenset(
    {
        "access",
        "approvals",
        "budget",
        "guardrails",
        "permissions",
        "provenance",
        "redact",
        "threat-scan",
    }
)
"""The guards among the plugins that come with Hookline: known where they are not installed, too."""
SLOW_IMPORT_SECONDS = 2.0
"""Seconds after which a slow import is logged."""


def find_class(name: str) -> Any:
    """Import the class of the entry point ``name``; None if it is not installed.

    Raises:
        PluginRefused: two distributions have it.
    """
    values = installed().get(name)
    if not values:
        return None
    if len(values) > 1:
        dists = sorted(
            {ep.dist.name if ep.dist else ep.value for ep in entry_points(group=GROUP, name=name)}
        )
        raise PluginRefused(
            f"{' and '.join(dists)} both provide plugin {name}; uninstall one of them"
        )
    start = perf_counter()
    plugin = EntryPoint(name, next(iter(values)), GROUP).load()
    if (seconds := perf_counter() - start) > SLOW_IMPORT_SECONDS:
        log.warning("plugin %s took %.1f s to import", name, seconds)
    return plugin


def load_file(file: Path) -> Any:
    """Import the plugin class that a single file defines.

    Raises:
        PluginRefused: others can change the file, or it does not define exactly one plugin.
    """
    writable = [one for one in (file, file.parent) if one.stat().st_mode & 0o022]
    if writable:
        raise PluginRefused(f"others can write to {writable[0]}; run `chmod go-w {writable[0]}`")
    module_name = _module_of(file)
    spec = spec_from_file_location(module_name, file)
    if spec is None or spec.loader is None:
        raise PluginRefused(f"{file} cannot be imported")
    module = sys.modules[module_name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    own = [one for one in vars(module).values() if _is_own_plugin(one, module_name)]
    if len(own) != 1:
        names = ", ".join(one.__name__ for one in own) or "none"
        raise PluginRefused(f"{file} must define one subclass of Plugin; found {names}")
    return own[0]


def forget_module(name: str, file: Path | None) -> None:
    """Forget a plugin's code, so that it is read again: its file, or all of its package."""
    package = _module_of(file) if file is not None else ""
    for value in installed().get(name, ()):
        package = value.partition(":")[0].partition(".")[0]
    for module in [one for one in sys.modules if one.partition(".")[0] == package]:
        del sys.modules[module]
    invalidate_caches()


def find_new_installs() -> None:
    """Add plugins that were installed since this process started, which stevedore's cache lacks."""
    invalidate_caches()
    known = installed()
    for entry_point in entry_points(group=GROUP):
        if entry_point.name not in known:
            known[entry_point.name] = {entry_point.value}
    installed_guards.cache_clear()


def _module_of(file: Path) -> str:
    return f"hookline_file_{file.stem}"


def may_be_guard(file: Path) -> bool:
    """Return True if a plugin file seems to implement a guard hook, or cannot be read."""
    try:
        source = file.read_text("utf-8", "replace")
    except OSError:
        return True
    return any(f"def {name}(" in source for name, spec in HOOKS.items() if spec.kind == "guard")


def _is_own_plugin(found: object, module: str) -> bool:
    return inspect.isclass(found) and issubclass(found, Plugin) and found.__module__ == module


@cache
def installed() -> dict[str, set[str]]:
    """The object references of the installed entry points, by name. Nothing is imported."""
    from stevedore import NamedExtensionManager

    found: dict[str, set[str]] = {}
    for entry_point in NamedExtensionManager[Any](GROUP, []).list_entry_points():
        found.setdefault(entry_point.name, set()).add(entry_point.value)
    return found


@cache
def installed_guards() -> frozenset[str]:
    """The plugins without which no turn may start if config has them on, by kind.

    A distribution names them in its metadata, so that one that cannot be imported is known too.
    """
    return OWN_GUARDS | {entry_point.name for entry_point in entry_points(group=GUARD_GROUP)}


def check_class(found: Any) -> None:
    """Check the declarations of a plugin class.

    Raises:
        PluginRefused: it is not a plugin, a declaration is malformed, or it needs another API.
    """
    if not (inspect.isclass(found) and issubclass(found, Plugin)):
        raise PluginRefused(f"its entry point {found!r} is not a subclass of Plugin")
    version, needs = found.requires_api, found.requires
    if not (isinstance(version, tuple) and [type(part) for part in version] == [int, int]):
        raise PluginRefused(f"its requires_api is {version!r}; write two numbers, such as {API}")
    if not (isinstance(needs, (tuple, list)) and all(isinstance(name, str) for name in needs)):
        raise PluginRefused(f"its requires is {needs!r}; write a tuple of plugin names")
    if not (inspect.isclass(found.config_class) and hasattr(found.config_class, "model_fields")):
        raise PluginRefused(f"its config_class is {found.config_class!r}; write a pydantic model")
    if version[0] != API[0] or version > API:
        needed, available = (".".join(map(str, v)) for v in (version, API))
        what = "hookline" if version > API else "the plugin"
        raise PluginRefused(
            f"it needs plugin API {needed}, but this Hookline has {available}; update {what}"
        )


def hooks_of(plugin: object) -> list[str]:
    """The hooks that a plugin implements, in the order of ``HOOKS``."""
    return [name for name in HOOKS if hasattr(getattr(type(plugin), name, None), "hookline_impl")]
