"""A folder with Hookline's sources: which plugins it has, and what each needs of it."""

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
    """The clone at ``root``; ``editable`` if what is installed of it runs in place."""

    root: Path
    editable: bool

    @cached_property
    def dists(self) -> Mapping[str, tuple[Path, dict[str, Any]]]:
        """The packages below ``plugins/``: name to folder and ``[project]``."""
        found = {}
        for file in sorted(self.root.glob("plugins/*/*/pyproject.toml")):
            try:
                project = tomllib.loads(file.read_text("utf-8"))["project"]
                found[str(project["name"])] = (file.parent, project)
            except (OSError, ValueError, LookupError, TypeError):
                continue  # no package, and nothing to say about it here
        return found

    @property
    def plugins(self) -> set[str]:
        """The names of the plugins that can be switched on."""
        points = (project.get("entry-points", {}) for _, project in self.dists.values())
        return {name for found in points for name in found.get(GROUP, {})}

    def missing(self, plugin: str) -> list[Path]:
        """The folders to install for a plugin, those that it needs and that are missing first."""
        folders: list[Path] = []
        brings = (
            name
            for name, (_, project) in self.dists.items()
            if plugin in project.get("entry-points", {}).get(GROUP, {})
        )
        self._collect(next(brings, f"{PREFIX}{plugin}"), folders, set())
        return folders

    def _collect(self, name: str, folders: list[Path], seen: set[str]) -> None:
        if name in seen or name not in self.dists or is_there(name):
            return
        seen.add(name)
        folder, project = self.dists[name]
        for text in project.get("dependencies", []):
            if match := _NAME.match(text):
                self._collect(match[0], folders, seen)
        folders.append(folder)


def is_there(dist: str) -> bool:
    """Whether a package is installed."""
    try:
        distribution(dist)
    except PackageNotFoundError:
        return False
    return True


def clone() -> Clone | None:
    """The folder of sources that Hookline was installed from, if it was and is still there."""
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
