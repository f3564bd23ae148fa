"""Takes a package of Hookline's own from the clone that Hookline itself was installed from.

Where Hookline runs from a clone, an index may have none of its packages, others, or someone else's.
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
from .spec import Spec


@dataclass(frozen=True)
class Source:
    """A package of the clone: its folder and its ``[project]``."""

    folder: Path
    project: Mapping[str, Any]

    def spec(self, editable: bool, extras: tuple[str, ...] = ()) -> Spec:
        """The folder as something to install."""
        listed = f"[{','.join(extras)}]" if extras else ""
        name = canonicalize_name(self.project["name"])
        return Spec(f"{self.folder}{listed}", name, self.folder, editable, extras)

    def satisfies(self, wanted: Requirement) -> bool:
        """Whether a requirement's versions hold the package's own; any version that is not told."""
        try:
            version = Version(str(self.project.get("version", "")))
        except InvalidVersion:
            return True
        return wanted.specifier.contains(version, prereleases=True)


def resolved(spec: Spec, environment: Environment) -> Spec:
    """The spec, as a folder of the clone if it names one of its packages, with what that needs.

    Any other spec, and any where Hookline was not installed from a clone, stays as it is.
    """
    core = environment.dists.get(CORE)
    root = _folder(core.url) if core else None
    name = spec.name
    if core is None or root is None or name is None:
        return spec
    sources = _sources(root)
    source = sources.get(name)
    if source is None or (spec.path is not None and spec.path != source.folder):
        return spec
    if spec.path is None:
        wanted = Requirement(spec.text)
        if wanted.url is not None or not source.satisfies(wanted):
            return spec
        spec = source.spec(core.editable, spec.extras)
    needed = dict(_needed(source, sources, environment, {name}))
    return replace(spec, also=tuple(one.spec(core.editable) for one in needed.values()))


def _folder(url: str) -> Path | None:
    """The clone at an address, if it is one that is still there."""
    parts = urlsplit(url)
    root = Path(url2pathname(parts.path))
    return root if parts.scheme == "file" and (root / "plugins").is_dir() else None


def _sources(root: Path) -> dict[str, Source]:
    found: dict[str, Source] = {}
    for file in sorted(root.glob("plugins/*/*/pyproject.toml")):
        try:
            project = tomllib.loads(file.read_text("utf-8"))["project"]
            found[canonicalize_name(project["name"])] = Source(file.parent, project)
        except (OSError, ValueError, LookupError, TypeError):
            continue  # no package
    return found


def _needed(
    source: Source, sources: Mapping[str, Source], environment: Environment, seen: set[str]
) -> Iterator[tuple[str, Source]]:
    """What a package needs of the clone and is not installed, what that needs first."""
    for text in source.project.get("dependencies", []):
        try:
            name = canonicalize_name(Requirement(text).name)
        except InvalidRequirement:
            continue
        if name in sources and name not in seen and name not in environment.dists:
            seen.add(name)
            yield from _needed(sources[name], sources, environment, seen)
            yield name, sources[name]
