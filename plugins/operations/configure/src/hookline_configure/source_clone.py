"""The source clone that Hookline was installed from: its plugins, and what each depends on."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

CORE = "hookline"
PREFIX = "hookline-"
GROUP = "hookline.plugins"
_NAME = re.compile(r"[A-Za-z0-9._-]+")


@dataclass(frozen=True)
class Clone:
    """A clone at ``root``; ``editable`` if Hookline runs from it in place."""

    root: Path
    editable: bool

    @cached_property
    def dists(self) -> Mapping[str, tuple[Path, dict[str, Any]]]:
        """The packages below ``plugins/``: folder and ``[project]`` table by name."""
        found = {}
        for file in sorted(self.root.glob("plugins/*/*/pyproject.toml")):
            try:
                project = tomllib.loads(file.read_text("utf-8"))["project"]
                found[str(project["name"])] = (file.parent, project)
            except (OSError, ValueError, LookupError, TypeError):
                continue  # not a package
        return found

    @property
    def plugins(self) -> set[str]:
        """The names of all plugins in the clone."""
        points = (project.get("entry-points", {}) for _, project in self.dists.values())
        return {name for found in points for name in found.get(GROUP, {})}

    def missing(self, plugin: str) -> list[Path]:
        """The folders to install for a plugin, in order: its missing dependencies, then its own."""
        folders: list[Path] = []
        providers = (
            name
            for name, (_, project) in self.dists.items()
            if plugin in project.get("entry-points", {}).get(GROUP, {})
        )
        self._collect(next(providers, f"{PREFIX}{plugin}"), folders, set())
        return folders

    def _collect(self, name: str, folders: list[Path], seen: set[str]) -> None:
        if name in seen or name not in self.dists or is_dist_installed(name):
            return
        seen.add(name)
        folder, project = self.dists[name]
        for text in project.get("dependencies", []):
            if match := _NAME.match(text):
                self._collect(match[0], folders, seen)
        folders.append(folder)


def is_dist_installed(dist: str) -> bool:
    """Whether a package is installed."""
    try:
        distribution(dist)
    except PackageNotFoundError:
        return False
    return True


def find_clone() -> Clone | None:
    """The clone that Hookline was installed from; None if it was not, or if the clone is gone."""
    try:
        text = distribution(CORE).read_text("direct_url.json")
    except PackageNotFoundError:
        return None
    direct = json.loads(text or "{}")
    parts = urlsplit(direct.get("url", ""))
    root = Path(url2pathname(parts.path))
    if parts.scheme != "file" or "dir_info" not in direct or not (root / "plugins").is_dir():
        return None
    return Clone(root, bool(direct["dir_info"].get("editable")))
