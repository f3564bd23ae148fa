"""The distributions in the running interpreter's environment, as a new process sees them."""

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

from . import environment_probe
from .errors import InstallerError
from .missing_dists import GROUP

CORE = "hookline"
"""The distribution of Hookline itself, which is never replaced unasked and never removed."""


@dataclass(frozen=True)
class InstalledDist:
    """One installed distribution. ``brings`` maps Hookline's entry-point groups to names."""

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

    dists: Mapping[str, InstalledDist]
    has_pip: bool
    externally_managed: bool
    maker: str
    prefix: str

    def providers_of(self, plugin: str) -> list[InstalledDist]:
        """The distributions that bring a plugin of this name."""
        return [dist for dist in self.dists.values() if plugin in dist.plugins]

    def dependents_of(self, name: str) -> list[InstalledDist]:
        """The distributions that require the distribution ``name`` without any extra."""
        return [d for d in self.dists.values() if any(r.name == name for r in requirements_of(d))]


@dataclass(frozen=True)
class DistRequirement:
    """A distribution's requirement of another one, with the versions it accepts."""

    name: str
    requirement: Requirement

    def accepts(self, version: str) -> bool:
        """Whether a version satisfies the requirement."""
        try:
            return self.requirement.specifier.contains(Version(version), prereleases=True)
        except InvalidVersion:
            return True


def requirements_of(dist: InstalledDist) -> Iterator[DistRequirement]:
    """What a distribution requires in this interpreter, without extras."""
    for text in dist.requires:
        try:
            found = Requirement(text)
        except InvalidRequirement:
            continue
        if found.marker is None or found.marker.evaluate({"extra": ""}):
            yield DistRequirement(canonicalize_name(found.name), found)


def inspect_environment() -> Environment:
    """Read the environment in a new process. Raises InstallerError if that fails."""
    # -P: nothing is imported from the current folder.
    command = [sys.executable, "-P", str(Path(environment_probe.__file__))]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no error message"])[-1]
        raise InstallerError(f"{sys.executable} cannot list its installed packages: {reason}")
    found = json.loads(done.stdout)
    dists: dict[str, InstalledDist] = {}
    for row in found["dists"]:
        brings = {group: tuple(names) for group, names in row["brings"].items()}
        dist = InstalledDist(**row | {"brings": brings, "requires": tuple(row["requires"])})
        dists.setdefault(dist.key, dist)  # the first on the path is imported
    return Environment(
        dists, found["pip"], found["externally_managed"], found["maker"], found["prefix"]
    )
