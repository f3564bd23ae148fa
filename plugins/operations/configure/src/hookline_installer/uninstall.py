"""Uninstalls plugins: their dists, what config says of them, and their entries in the lock."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from packaging.utils import canonicalize_name

from .confirmation import say
from .consent import Job
from .environment import CORE, Dist, Environment, look
from .errors import USAGE, Stop
from .lock import Entry
from .package_tools import choose


@dataclass(frozen=True)
class Target:
    """A dist that is to go. ``dist`` is None where only the lock still knows it."""

    key: str
    plugins: frozenset[str]
    dist: Dist | None

    def __str__(self) -> str:
        what = str(self.dist) if self.dist else f"{self.key}, which is not installed any more"
        listed = ", ".join(sorted(self.plugins))
        return f"{what} (plugin {listed})" if listed else what


def uninstall(job: Job, names: Sequence[str]) -> None:
    """Remove the dists of these plugins. Raises Stop and LockDamaged."""
    before, entries = look(), job.lock.read()
    targets = list({t.key: t for t in (_find(n, before, entries) for n in names)}.values())
    _refuse_shared(targets, names)
    _refuse_needed(targets, before)
    installed = [target.key for target in targets if target.dist]
    tool = choose(before, job.home) if installed else None
    say(f"This goes from {before.prefix}, from plugins.lock, and is switched off in config.yaml:")
    for target in targets:
        say(f"  {target}")
    if not job.person.agrees("Go on?"):
        raise Stop("nothing was done.")
    for plugin in _running(job, targets):
        job.switch.off(plugin)
    if tool:
        tool.uninstall(installed)
        _refuse_remains(installed)
    job.lock.forget(target.key for target in targets)
    for target in targets:
        say(f"{target.dist or target.key} is gone.")
        for plugin in sorted(target.plugins):
            say(f"What {plugin} stored stays; `hookline plugins purge {plugin}` removes it.")


def _find(name: str, environment: Environment, entries: Sequence[Entry]) -> Target:
    """The dist of a plugin, or the dist itself, by a person's word. Raises Stop."""
    key = canonicalize_name(name)
    dists = environment.bringing(name)
    if len(dists) > 1:
        listed = " and ".join(dist.name for dist in dists)
        raise Stop(f"{listed} both bring a plugin {name}; name the dist that is to go.", USAGE)
    recorded = {entry.dist: entry for entry in entries}
    known = [dist.key for dist in dists]
    known += [entry.dist for entry in entries if name in entry.plugins]
    own = environment.dists.get(key)
    known += [key] if key in recorded or (own and own.brings) else []
    if key == CORE or CORE in known:
        raise Stop("that is Hookline itself; remove it with the program that installed it.", USAGE)
    if not known:
        raise Stop(
            f"there is no plugin {name!r} to remove; `hookline plugins list` shows those that are.",
            USAGE,
        )
    dist, entry = environment.dists.get(known[0]), recorded.get(known[0])
    plugins = {*(dist.plugins if dist else ()), *(entry.plugins if entry else ())}
    return Target(known[0], frozenset(plugins), dist)


def _refuse_shared(targets: Sequence[Target], names: Sequence[str]) -> None:
    """A dist goes only if each of its plugins was named, or the dist itself."""
    keys = {canonicalize_name(name) for name in names}
    for target in targets:
        others = sorted(target.plugins - set(names))
        if others and target.key not in keys:
            everything = " ".join(sorted(target.plugins))
            raise Stop(
                f"{target.key} also brings {', '.join(others)}, so nothing was done; to remove "
                f"all of it: hookline plugins uninstall {everything}. To switch one off: "
                "hookline plugins disable NAME.",
                USAGE,
            )


def _refuse_needed(targets: Sequence[Target], environment: Environment) -> None:
    going = {target.key for target in targets}
    for target in targets:
        users = [str(d) for d in environment.needing(target.key) if d.key not in going]
        if users and target.dist:
            raise Stop(f"{', '.join(users)} needs {target.key}, so nothing was done.")


def _running(job: Job, targets: Sequence[Target]) -> Iterator[str]:
    """The plugins that config has switched on, by its own word or as a standard one."""
    states = job.switch.states()
    for target in targets:
        for plugin in sorted(target.plugins):
            if plugin in states and states[plugin].state != "off":
                yield plugin


def _refuse_remains(names: Sequence[str]) -> None:
    left = [str(dist) for key, dist in look().dists.items() if key in names]
    if left:
        raise Stop(
            f"{', '.join(left)} could not be removed: it lies outside this environment or "
            "somebody else installed it. Its plugins are switched off in config.yaml."
        )
