"""Installs one spec: plan, consent, install, find new plugins, record them, turn them on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from .clone_packages import resolve_in_clone
from .confirmation import say, warn
from .consent import InstallJob, get_consent
from .environment import CORE, Environment, InstalledDist, inspect_environment
from .errors import USAGE, InstallerError
from .lock import PLUGIN_NAME, LockEntry
from .package_tools import PackageTool, choose_tool
from .plan import InstallPlan
from .spec import InstallSpec

HOW_TO_CHOOSE = {
    "hookline.providers": "the provider {0}: choose it with `model: {0}/MODEL` in config.yaml",
    "hookline.stores": "the store {0}: choose it with `store:` in config.yaml",
    "hookline.command_guards": "the command guard {0}, which takes effect immediately",
}
"""Messages by entry-point group about drivers, which are chosen in config, not turned on."""


def install(job: InstallJob, spec: InstallSpec) -> None:
    """Install ``spec`` and turn its plugins on. Raises InstallerError and LockDamaged."""
    job.lock.read()
    if spec.name == CORE and not spec.extras:
        raise InstallerError(
            "this is Hookline itself. Update it with the program that installed it (pip, uv "
            "tool or pipx). Plugins have names like hookline-NAME.",
            USAGE,
        )
    before = inspect_environment()
    spec = resolve_in_clone(spec, before)
    tool = choose_tool(before, job.home)
    plan = tool.plan([spec])
    then = f"Then plugins.lock records {spec.shown}, and its plugins are turned on."
    get_consent(job, tool, plan, before, then)
    if plan:
        tool.install([spec])
    after = inspect_environment()
    requested = _find_requested(spec, plan, after)
    if requested is None:
        raise InstallerError(f"{tool.name} succeeded, but {spec.shown} is not in {after.prefix}.")
    new_dists = list(_hookline_dists(requested, spec, plan, after))
    if not new_dists:
        _offer_removal(
            job, tool, plan.new_names(before), f"{requested} is installed but has no plugin."
        )
    _refuse_duplicates(job, tool, plan.new_names(before), new_dists, after)
    _record_and_enable(job, spec, requested, new_dists)


def _record_and_enable(
    job: InstallJob, spec: InstallSpec, requested: InstalledDist, new_dists: list[InstalledDist]
) -> None:
    """Record new distributions, turn their plugins on, and report the plugins' states."""
    job.lock.record(
        lock_entry(dist, spec if dist is requested else InstallSpec(dist.key)) for dist in new_dists
    )
    if spec.recorded != spec.text:
        warn("plugins.lock records the address without its password")
    for dist in new_dists:
        say(f"{dist} is installed.")
        _report_drivers(dist)
    plugins = [plugin for dist in new_dists for plugin in usable_plugins(dist)]
    for plugin in plugins:
        job.switch.on(plugin)
    job.switch.report(plugins)


def lock_entry(dist: InstalledDist, spec: InstallSpec) -> LockEntry:
    """The entry of ``plugins.lock`` for a distribution."""
    editable = str(spec.path) if spec.editable else None
    return LockEntry(
        dist=dist.key,
        version=dist.version,
        spec=spec.recorded,
        editable=editable,
        plugins=tuple(usable_plugins(dist)),
    )


def usable_plugins(dist: InstalledDist) -> Iterator[str]:
    """The plugins of a distribution whose names can be keys in ``config.yaml``."""
    return (plugin for plugin in dist.plugins if re.match(PLUGIN_NAME, plugin))


def _find_requested(
    spec: InstallSpec, plan: InstallPlan, after: Environment
) -> InstalledDist | None:
    """The distribution that ``spec`` means: by its name, the tool's report, or its address."""
    names = [spec.name] if spec.name else []
    names += [step.key for step in plan.steps if step.requested]
    names += [step.key for step in plan.steps if step.source and _is_at(step.source, spec)]
    names += [dist.key for dist in after.dists.values() if dist.url and _is_at(dist.url, spec)]
    return next((after.dists[name] for name in names if name in after.dists), None)


def _is_at(address: str, spec: InstallSpec) -> bool:
    if spec.path is not None:
        return Path(url2pathname(urlsplit(address).path)) == spec.path
    return _host_and_path(address) == _host_and_path(spec.recorded)


def _host_and_path(address: str) -> tuple[str, str]:
    """Host and path, without the program (``git+``), the commit (``@v1``) and the rest."""
    parts = urlsplit(address)
    return parts.hostname or "", parts.path.partition("@")[0]


def _hookline_dists(
    requested: InstalledDist, spec: InstallSpec, plan: InstallPlan, after: Environment
) -> Iterator[InstalledDist]:
    """The distributions with entry points for Hookline: ``requested``, else its dependencies."""
    if requested.brings and requested.key != CORE:
        yield requested
        return
    names = dict.fromkeys([step.key for step in plan.steps])
    names |= dict.fromkeys(_required_names(requested, spec.extras))
    for name in names:
        dist = after.dists.get(name)
        if dist and dist.brings and name != CORE:
            yield dist


def _required_names(dist: InstalledDist, extras: Iterable[str]) -> Iterator[str]:
    """The names of the distributions that one requires with these extras."""
    for text in dist.requires:
        try:
            found = Requirement(text)
        except InvalidRequirement:
            continue
        marker = found.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            yield canonicalize_name(found.name)


def _refuse_duplicates(
    job: InstallJob,
    tool: PackageTool,
    new_names: list[str],
    new_dists: list[InstalledDist],
    after: Environment,
) -> None:
    """Refuse a plugin name that another distribution has: both plugins would stay off."""
    for dist in new_dists:
        for plugin in dist.plugins:
            others = [str(other) for other in after.providers_of(plugin) if other.key != dist.key]
            if others:
                problem = f"{dist} and {' and '.join(others)} both bring a plugin {plugin}."
                _offer_removal(job, tool, new_names, problem)
            if not re.match(PLUGIN_NAME, plugin):
                warn(f"{dist} has a plugin {plugin!r}, which cannot be a key in config.yaml")


def _offer_removal(job: InstallJob, tool: PackageTool, new_names: list[str], problem: str) -> None:
    """Offer to remove the new distributions again. Always raises InstallerError."""
    names = [name for name in new_names if name != CORE]
    warn(problem)
    if names and job.confirmer.confirm(f"Remove {', '.join(names)} again?"):
        tool.uninstall(names)
        raise InstallerError(
            f"removed {', '.join(names)} again. Nothing was turned on or recorded."
        )
    raise InstallerError("nothing was turned on or recorded.")


def _report_drivers(dist: InstalledDist) -> None:
    for group, text in HOW_TO_CHOOSE.items():
        for name in dist.brings.get(group, ()):
            say(f"It has {text.format(name)}.")
