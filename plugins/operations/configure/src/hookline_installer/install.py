"""Installs one spec: plan, consent, install, find what it brought, record, switch on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from .clone_packages import resolved
from .confirmation import say, warn
from .consent import Job, get_consent
from .environment import CORE, Dist, Environment, look
from .errors import USAGE, Stop
from .lock import PLUGIN_NAME, Entry
from .package_tools import Tool, choose
from .plan import Plan
from .spec import Spec

HOW_TO_CHOOSE = {
    "hookline.providers": "the provider {0}: choose it with `model: {0}/MODEL` in config.yaml",
    "hookline.stores": "the store {0}: choose it with `store:` in config.yaml",
    "hookline.services": "the service {0}, which Hookline takes by itself",
}
"""What is said of drivers, which are chosen and not switched on, by entry-point group."""


def install(job: Job, spec: Spec) -> None:
    """Install ``spec`` and switch its plugins on. Raises Stop and LockDamaged."""
    job.lock.read()
    if spec.name == CORE and not spec.extras:
        raise Stop(
            "that is Hookline itself; update it with the program that installed it (pip, uv "
            "tool or pipx). Plugins have names like hookline-NAME.",
            USAGE,
        )
    before = look()
    spec = resolved(spec, before)
    tool = choose(before, job.home)
    plan = tool.plan([spec])
    then = f"Then plugins.lock records {spec.shown}, and the plugins it brings are switched on."
    get_consent(job, tool, plan, before, then)
    if plan:
        tool.install([spec])
    after = look()
    asked = _asked_for(spec, plan, after)
    if asked is None:
        raise Stop(f"{tool.name} has ended well, but {spec.shown} is not in {after.prefix}.")
    brought = list(_brought(asked, spec, plan, after))
    if not brought:
        _take_back(job, tool, plan.fresh(before), f"{asked} is installed but brings no plugin.")
    _refuse_twins(job, tool, plan.fresh(before), brought, after)
    _finish(job, spec, asked, brought)


def _finish(job: Job, spec: Spec, asked: Dist, brought: list[Dist]) -> None:
    """Record what came, switch it on, and say how it fares."""
    job.lock.record(entry(dist, spec if dist is asked else Spec(dist.key)) for dist in brought)
    if spec.recorded != spec.text:
        warn("plugins.lock records the address without its password")
    for dist in brought:
        say(f"{dist} is installed.")
        _tell_drivers(dist)
    plugins = [plugin for dist in brought for plugin in usable(dist)]
    for plugin in plugins:
        job.switch.on(plugin)
    job.switch.report(plugins)


def entry(dist: Dist, spec: Spec) -> Entry:
    """What ``plugins.lock`` keeps of a dist."""
    editable = str(spec.path) if spec.editable else None
    return Entry(
        dist=dist.key,
        version=dist.version,
        spec=spec.recorded,
        editable=editable,
        plugins=tuple(usable(dist)),
    )


def usable(dist: Dist) -> Iterator[str]:
    """The plugins of a dist whose names can be written in ``config.yaml``."""
    return (plugin for plugin in dist.plugins if re.match(PLUGIN_NAME, plugin))


def _asked_for(spec: Spec, plan: Plan, after: Environment) -> Dist | None:
    """The dist that ``spec`` stands for: by its name, the tool's word, or its address."""
    names = [spec.name] if spec.name else []
    names += [step.key for step in plan.steps if step.asked]
    names += [step.key for step in plan.steps if step.source and _is_at(step.source, spec)]
    names += [dist.key for dist in after.dists.values() if dist.url and _is_at(dist.url, spec)]
    return next((after.dists[name] for name in names if name in after.dists), None)


def _is_at(address: str, spec: Spec) -> bool:
    if spec.path is not None:
        return Path(url2pathname(urlsplit(address).path)) == spec.path
    return _place(address) == _place(spec.recorded)


def _place(address: str) -> tuple[str, str]:
    """Host and path, without the program (``git+``), the commit (``@v1``) and the rest."""
    parts = urlsplit(address)
    return parts.hostname or "", parts.path.partition("@")[0]


def _brought(asked: Dist, spec: Spec, plan: Plan, after: Environment) -> Iterator[Dist]:
    """The dists that bring something for Hookline: ``asked``, else what came along with it."""
    if asked.brings and asked.key != CORE:
        yield asked
        return
    names = dict.fromkeys([step.key for step in plan.steps])
    names |= dict.fromkeys(_needed(asked, spec.extras))
    for name in names:
        dist = after.dists.get(name)
        if dist and dist.brings and name != CORE:
            yield dist


def _needed(dist: Dist, extras: Iterable[str]) -> Iterator[str]:
    """The dists that a dist needs with these extras."""
    for text in dist.requires:
        try:
            found = Requirement(text)
        except InvalidRequirement:
            continue
        marker = found.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            yield canonicalize_name(found.name)


def _refuse_twins(
    job: Job, tool: Tool, fresh: list[str], brought: list[Dist], after: Environment
) -> None:
    """Two dists with one plugin name would both stay off: a guard might be one of them."""
    for dist in brought:
        for plugin in dist.plugins:
            others = [str(other) for other in after.bringing(plugin) if other.key != dist.key]
            if others:
                sentence = f"{dist} and {' and '.join(others)} both bring a plugin {plugin}."
                _take_back(job, tool, fresh, sentence)
            if not re.match(PLUGIN_NAME, plugin):
                warn(f"{dist} names a plugin {plugin!r}, which config.yaml cannot hold")


def _take_back(job: Job, tool: Tool, fresh: list[str], sentence: str) -> None:
    """Offer to remove what was not there before. Always raises Stop."""
    names = [name for name in fresh if name != CORE]
    warn(sentence)
    if names and job.person.agrees(f"Remove {', '.join(names)} again?"):
        tool.uninstall(names)
        raise Stop(f"removed {', '.join(names)} again; nothing was switched on or recorded.")
    raise Stop("nothing was switched on or recorded.")


def _tell_drivers(dist: Dist) -> None:
    for group, text in HOW_TO_CHOOSE.items():
        for name in dist.brings.get(group, ()):
            say(f"It brings {text.format(name)}.")
