"""Installs Hookline's own packages from the source clone that Hookline was installed from.

A package index may have none of these packages, other versions, or another person's of that name.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from .environment import CORE, Environment
from .spec import InstallSpec


@dataclass(frozen=True)
class ClonePackage:
    """A package in the clone: its folder and its ``[project]`` table."""

    folder: Path
    project: Mapping[str, Any]

    def spec(self, editable: bool, extras: tuple[str, ...] = ()) -> InstallSpec:
        """The spec that installs the package from its folder."""
        listed = f"[{','.join(extras)}]" if extras else ""
        name = canonicalize_name(self.project["name"])
        return InstallSpec(f"{self.folder}{listed}", name, self.folder, editable, extras)

    def satisfies(self, requirement: Requirement) -> bool:
        """Whether the package's version meets a requirement; True if it states no version."""
        try:
            version = Version(str(self.project.get("version", "")))
        except InvalidVersion:
            return True
        return requirement.specifier.contains(version, prereleases=True)


def resolve_in_clone(spec: InstallSpec, environment: Environment) -> InstallSpec:
    """The spec of a package's folder in the clone and of its dependencies there.

    ``spec`` is returned unchanged if it names no package of the clone, or if Hookline was not
    installed from one.
    """
    core = environment.dists.get(CORE)
    root = _clone_root(core.url) if core else None
    name = spec.name
    if core is None or root is None or name is None:
        return spec
    packages = _find_packages(root)
    package = packages.get(name)
    if package is None or (spec.path is not None and spec.path != package.folder):
        return spec
    if spec.path is None:
        requirement = Requirement(spec.text)
        if requirement.url is not None or not package.satisfies(requirement):
            return spec
        spec = package.spec(core.editable, spec.extras)
    dependencies = dict(_missing_dependencies(package, packages, environment, {name}))
    return replace(
        spec, also=tuple(dependency.spec(core.editable) for dependency in dependencies.values())
    )


def _clone_root(url: str) -> Path | None:
    """The clone at a ``file:`` address; None if it is another address or the clone is gone."""
    parts = urlsplit(url)
    root = Path(url2pathname(parts.path))
    return root if parts.scheme == "file" and (root / "plugins").is_dir() else None


def _find_packages(root: Path) -> dict[str, ClonePackage]:
    found: dict[str, ClonePackage] = {}
    for file in sorted(root.glob("plugins/*/*/pyproject.toml")):
        try:
            project = tomllib.loads(file.read_text("utf-8"))["project"]
            found[canonicalize_name(project["name"])] = ClonePackage(file.parent, project)
        except (OSError, ValueError, LookupError, TypeError):
            continue  # not a package
    return found


def _missing_dependencies(
    package: ClonePackage,
    packages: Mapping[str, ClonePackage],
    environment: Environment,
    seen: set[str],
) -> Iterator[tuple[str, ClonePackage]]:
    """A package's missing dependencies that are in the clone, in order of installation."""
    for text in package.project.get("dependencies", []):
        try:
            name = canonicalize_name(Requirement(text).name)
        except InvalidRequirement:
            continue
        if name in packages and name not in seen and name not in environment.dists:
            seen.add(name)
            yield from _missing_dependencies(packages[name], packages, environment, seen)
            yield name, packages[name]
