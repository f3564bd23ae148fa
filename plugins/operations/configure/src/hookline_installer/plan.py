"""The changes that an installation would make, from a dry run, and their conflicts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from .environment import Environment, requirements_of
from .spec import mask_passwords

_UV_LINE = re.compile(
    r"^ (?P<sign>[+~-]) (?P<name>[A-Za-z0-9._-]+)"
    r"(?:==(?P<version>\S+)(?: \(from (?P<origin>.+)\))?| @ (?P<url>.+))$"
)


class UnreadablePlan(Exception):
    """The output of a dry run could not be parsed."""


@dataclass(frozen=True)
class PlannedDist:
    """A distribution that would be installed.

    ``version`` is None if it must be built first. ``source`` is the address of one given by address
    or path. ``requested`` is True unless it is only a dependency.
    """

    name: str
    version: str | None
    source: str = ""
    requested: bool = False

    @property
    def key(self) -> str:
        """The canonical name."""
        return canonicalize_name(self.name)


@dataclass(frozen=True)
class InstallPlan:
    """The distributions to install, and the names of those that would only be removed."""

    steps: tuple[PlannedDist, ...] = ()
    removed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.steps or self.removed)

    def step(self, name: str) -> PlannedDist | None:
        """The planned installation of a distribution, if any."""
        return next((step for step in self.steps if step.key == name), None)

    def new_names(self, before: Environment) -> list[str]:
        """The names of the distributions that were not installed before."""
        return [step.key for step in self.steps if step.key not in before.dists]

    def lines(self, before: Environment) -> list[str]:
        """One line of text for each change."""
        rows = [_change(step, before) for step in self.steps]
        rows += [("remove", str(before.dists.get(name, name))) for name in self.removed]
        return [f"  {verb:<10}{what}" for verb, what in rows]


def _change(step: PlannedDist, before: Environment) -> tuple[str, str]:
    old = before.dists.get(step.key)
    source = f" (from {mask_passwords(step.source)})" if step.source else ""
    new = step.version or ""
    if old is None:
        return "install", f"{step.name} {new}".rstrip() + source
    if not new:
        return "replace", f"{old}{source}"
    if new == old.version:
        return "reinstall", f"{step.name} {new}{source}"
    verb = "downgrade" if _is_older(new, old.version) else "upgrade"
    return verb, f"{step.name} {old.version} -> {new}{source}"


def _is_older(one: str, other: str) -> bool:
    try:
        return Version(one) < Version(other)
    except InvalidVersion:
        return False


def from_report(text: str) -> InstallPlan:
    """The plan in pip's report (``pip install --report``, version 1). Raises UnreadablePlan."""
    try:
        rows = json.loads(text)["install"]
        return InstallPlan(tuple(_planned_dist(row) for row in rows))
    except (ValueError, KeyError, TypeError) as error:
        raise UnreadablePlan(f"cannot parse pip's report ({error!r})") from None


def _planned_dist(row: dict[str, Any]) -> PlannedDist:
    metadata = row["metadata"]
    source = row["download_info"]["url"] if row.get("is_direct") else ""
    return PlannedDist(metadata["name"], metadata["version"], source, bool(row.get("requested")))


def from_uv(text: str) -> InstallPlan:
    """The plan in the output of ``uv pip install --dry-run``. Raises UnreadablePlan."""
    found = [m for m in map(_UV_LINE.match, text.splitlines()) if m]
    steps = tuple(
        PlannedDist(m["name"], m["version"], m["url"] or m["origin"] or "")
        for m in found
        if m["sign"] in "+~"
    )
    if not found and "no changes" not in text:
        raise UnreadablePlan(f"cannot parse uv's output: {text.strip()[-200:]}")
    installed = {step.key for step in steps}
    removed = (canonicalize_name(m["name"]) for m in found if m["sign"] == "-")
    return InstallPlan(steps, tuple(name for name in removed if name not in installed))


def conflicts(plan: InstallPlan, before: Environment) -> Iterator[str]:
    """A sentence for each installed distribution whose requirements the plan would break."""
    for dist in before.dists.values():
        if plan.step(dist.key) or dist.key in plan.removed:
            continue
        for requirement in requirements_of(dist):
            step = plan.step(requirement.name)
            old = before.dists.get(requirement.name)
            if requirement.name in plan.removed:
                yield f"{dist} needs {requirement.requirement}, which would be removed"
            worked = old is None or requirement.accepts(old.version)
            if worked and step and step.version and not requirement.accepts(step.version):
                yield f"{dist} needs {requirement.requirement}, and would get {step.version}"
