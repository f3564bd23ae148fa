"""Uninstalls plugins: turns them off, removes distributions, and forgets their lock entries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from packaging.utils import canonicalize_name

from .confirmation import say
from .consent import InstallJob
from .environment import CORE, Environment, InstalledDist, inspect_environment
from .errors import USAGE, InstallerError
from .lock import LockEntry
from .package_tools import choose_tool


@dataclass(frozen=True)
class UninstallTarget:
    """A distribution to uninstall. ``dist`` is None if only the lock still lists it."""

    key: str
    plugins: frozenset[str]
    dist: InstalledDist | None

    def __str__(self) -> str:
        what = str(self.dist) if self.dist else f"{self.key}, which is no longer installed"
        listed = ", ".join(sorted(self.plugins))
        return f"{what} (plugin {listed})" if listed else what


def uninstall(job: InstallJob, names: Sequence[str]) -> None:
    """Uninstall the distributions of these plugins. Raises InstallerError and LockDamaged."""
    before = inspect_environment()
    entries = job.lock.read()
    targets = list({t.key: t for t in (_find(n, before, entries) for n in names)}.values())
    _refuse_shared(targets, names)
    _refuse_needed(targets, before)
    installed = [target.key for target in targets if target.dist]
    tool = choose_tool(before, job.home) if installed else None
    say(f"To be turned off in config.yaml and removed from plugins.lock and {before.prefix}:")
    for target in targets:
        say(f"  {target}")
    if not job.confirmer.confirm("Continue?"):
        raise InstallerError("nothing was changed.")
    for plugin in _enabled_plugins(job, targets):
        job.switch.off(plugin)
    if tool:
        tool.uninstall(installed)
        _check_removed(installed)
    job.lock.forget(target.key for target in targets)
    for target in targets:
        say(f"Removed {target.dist or target.key}.")
        for plugin in sorted(target.plugins):
            say(f"Data of {plugin} was kept. Run `hookline plugins purge {plugin}` to delete it.")


def _find(name: str, environment: Environment, entries: Sequence[LockEntry]) -> UninstallTarget:
    """The distribution of a plugin, or the one of this name. Raises InstallerError."""
    key = canonicalize_name(name)
    dists = environment.providers_of(name)
    if len(dists) > 1:
        listed = " and ".join(dist.name for dist in dists)
        raise InstallerError(
            f"{listed} both have a plugin {name}. Name the package to remove.", USAGE
        )
    recorded = {entry.dist: entry for entry in entries}
    known = [dist.key for dist in dists]
    known += [entry.dist for entry in entries if name in entry.plugins]
    own = environment.dists.get(key)
    known += [key] if key in recorded or (own and own.brings) else []
    if key == CORE or CORE in known:
        raise InstallerError(
            "this is Hookline itself. Remove it with the program that installed it.", USAGE
        )
    if not known:
        raise InstallerError(
            f"unknown plugin {name!r}. `hookline plugins list` shows all plugins.", USAGE
        )
    dist, entry = environment.dists.get(known[0]), recorded.get(known[0])
    plugins = {*(dist.plugins if dist else ()), *(entry.plugins if entry else ())}
    return UninstallTarget(known[0], frozenset(plugins), dist)


def _refuse_shared(targets: Sequence[UninstallTarget], names: Sequence[str]) -> None:
    """Refuse unless each plugin of a distribution was named, or the distribution itself."""
    keys = {canonicalize_name(name) for name in names}
    for target in targets:
        others = sorted(target.plugins - set(names))
        if others and target.key not in keys:
            all_plugins = " ".join(sorted(target.plugins))
            raise InstallerError(
                f"{target.key} also has {', '.join(others)}, so nothing was changed. Remove "
                f"everything with `hookline plugins uninstall {all_plugins}`, or turn one off with "
                "`hookline plugins disable NAME`.",
                USAGE,
            )


def _refuse_needed(targets: Sequence[UninstallTarget], environment: Environment) -> None:
    removed = {target.key for target in targets}
    for target in targets:
        users = [str(d) for d in environment.dependents_of(target.key) if d.key not in removed]
        if users and target.dist:
            raise InstallerError(f"{', '.join(users)} needs {target.key}, so nothing was changed.")


def _enabled_plugins(job: InstallJob, targets: Sequence[UninstallTarget]) -> Iterator[str]:
    """The plugins that are on, whether config.yaml names them or they are standard."""
    states = job.switch.states()
    for target in targets:
        for plugin in sorted(target.plugins):
            if plugin in states and states[plugin].state != "off":
                yield plugin


def _check_removed(names: Sequence[str]) -> None:
    left = [str(dist) for key, dist in inspect_environment().dists.items() if key in names]
    if left:
        raise InstallerError(
            f"{', '.join(left)} could not be removed: it is outside this environment or "
            "another program installed it. Its plugins are turned off in config.yaml."
        )
