"""What an install would change, from a dry run, and what that would break."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from .environment import Environment, needs
from .spec import masked

_UV_LINE = re.compile(
    r"^ (?P<sign>[+~-]) (?P<name>[A-Za-z0-9._-]+)"
    r"(?:==(?P<version>\S+)(?: \(from (?P<origin>.+)\))?| @ (?P<url>.+))$"
)


class Unreadable(Exception):
    """A dry run's answer that is not understood."""


@dataclass(frozen=True)
class Step:
    """A dist that comes in. ``version`` is None where it must be built first; ``source`` is the
    address of one that was asked for by address or path; ``asked`` if it was asked for itself."""

    name: str
    version: str | None
    source: str = ""
    asked: bool = False

    @property
    def key(self) -> str:
        """The canonical name."""
        return canonicalize_name(self.name)


@dataclass(frozen=True)
class Plan:
    """What comes in, and the names of what only goes."""

    steps: tuple[Step, ...] = ()
    removed: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.steps or self.removed)

    def step(self, name: str) -> Step | None:
        """The step of a dist."""
        return next((step for step in self.steps if step.key == name), None)

    def fresh(self, before: Environment) -> list[str]:
        """The dists that were not there before."""
        return [step.key for step in self.steps if step.key not in before.dists]

    def lines(self, before: Environment) -> list[str]:
        """A line for each change."""
        rows = [_row(step, before) for step in self.steps]
        rows += [("remove", str(before.dists.get(name, name))) for name in self.removed]
        return [f"  {verb:<10}{what}" for verb, what in rows]


def _row(step: Step, before: Environment) -> tuple[str, str]:
    old = before.dists.get(step.key)
    source = f" (from {masked(step.source)})" if step.source else ""
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


def from_report(text: str) -> Plan:
    """The plan in pip's report (``pip install --report``, version 1). Raises Unreadable."""
    try:
        rows = json.loads(text)["install"]
        return Plan(tuple(_reported(row) for row in rows))
    except (ValueError, KeyError, TypeError) as error:
        raise Unreadable(f"pip's report is not understood ({error!r})") from None


def _reported(row: dict[str, Any]) -> Step:
    metadata = row["metadata"]
    source = row["download_info"]["url"] if row.get("is_direct") else ""
    return Step(metadata["name"], metadata["version"], source, bool(row.get("requested")))


def from_uv(text: str) -> Plan:
    """The plan in the words of ``uv pip install --dry-run``. Raises Unreadable."""
    found = [m for m in map(_UV_LINE.match, text.splitlines()) if m]
    steps = tuple(
        Step(m["name"], m["version"], m["url"] or m["origin"] or "")
        for m in found
        if m["sign"] in "+~"
    )
    if not found and "no changes" not in text:
        raise Unreadable(f"uv's answer is not understood: {text.strip()[-200:]}")
    coming = {step.key for step in steps}
    gone = (canonicalize_name(m["name"]) for m in found if m["sign"] == "-")
    return Plan(steps, tuple(name for name in gone if name not in coming))


def conflicts(plan: Plan, before: Environment) -> Iterator[str]:
    """What works now and would not any more, a sentence each."""
    for dist in before.dists.values():
        if plan.step(dist.key) or dist.key in plan.removed:
            continue
        for need in needs(dist):
            step, old = plan.step(need.name), before.dists.get(need.name)
            if need.name in plan.removed:
                yield f"{dist} needs {need.requirement}, which would be removed"
            worked = old is None or need.accepts(old.version)
            if worked and step and step.version and not need.accepts(step.version):
                yield f"{dist} needs {need.requirement}, and would get {step.version}"
