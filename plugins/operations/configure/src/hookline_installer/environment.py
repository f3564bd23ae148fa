"""What the running interpreter's environment holds, seen by a fresh process of it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from . import look as looker
from .errors import Stop
from .missing_dists import GROUP

CORE = "hookline"
"""The dist that is never replaced by the way, nor removed."""


@dataclass(frozen=True)
class Dist:
    """One installed dist. ``brings`` maps Hookline's entry-point groups to names."""

    name: str
    version: str
    requires: tuple[str, ...] = ()
    brings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    url: str = ""
    editable: bool = False

    @property
    def key(self) -> str:
        """The canonical name."""
        return canonicalize_name(self.name)

    @property
    def plugins(self) -> tuple[str, ...]:
        """The plugins it brings."""
        return self.brings.get(GROUP, ())

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


@dataclass(frozen=True)
class Environment:
    """What is installed, by canonical name, and how the environment may be changed."""

    dists: Mapping[str, Dist]
    has_pip: bool
    externally_managed: bool
    maker: str
    prefix: str

    def bringing(self, plugin: str) -> list[Dist]:
        """The dists that bring a plugin of this name."""
        return [dist for dist in self.dists.values() if plugin in dist.plugins]

    def needing(self, name: str) -> list[Dist]:
        """The dists that need the dist ``name`` without any extra."""
        return [d for d in self.dists.values() if any(r.name == name for r in needs(d))]


@dataclass(frozen=True)
class Need:
    """That a dist needs another, in these versions."""

    name: str
    requirement: Requirement

    def accepts(self, version: str) -> bool:
        """Whether a version will do."""
        try:
            return self.requirement.specifier.contains(Version(version), prereleases=True)
        except InvalidVersion:
            return True


def needs(dist: Dist) -> Iterator[Need]:
    """What a dist needs in this interpreter, extras left out."""
    for text in dist.requires:
        try:
            found = Requirement(text)
        except InvalidRequirement:
            continue
        if found.marker is None or found.marker.evaluate({"extra": ""}):
            yield Need(canonicalize_name(found.name), found)


def look() -> Environment:
    """Look afresh. Raises Stop if the interpreter cannot be run."""
    # -P: what lies in the current folder is never imported.
    command = [sys.executable, "-P", str(Path(looker.__file__))]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise Stop(f"{sys.executable} cannot tell what it has installed: {reason}")
    found = json.loads(done.stdout)
    dists: dict[str, Dist] = {}
    for row in found["dists"]:
        brings = {group: tuple(names) for group, names in row["brings"].items()}
        dist = Dist(**row | {"brings": brings, "requires": tuple(row["requires"])})
        dists.setdefault(dist.key, dist)  # The first on the path is the one that is imported.
    return Environment(
        dists, found["pip"], found["externally_managed"], found["maker"], found["prefix"]
    )
