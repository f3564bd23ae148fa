"""What the meta-tests know of the source tree: its folders, plugin dists and imports."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "core" / "hookline"
HOOKSPECS = ROOT / "hookspecs" / "hookline_hookspecs"
TESTING = CORE / "testing"
PLUGINS = ROOT / "plugins"
GROUPS = ("hookline.plugins", "hookline.providers", "hookline.stores")


def normal(name: str) -> str:
    """A dist's name as packaging tools compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def required(requirements: list[str]) -> set[str]:
    """The dist names of requirement strings such as ``rich>=15`` or ``psycopg[pool]>=3``."""
    return {normal(re.split(r"[\s\[<>=!~;@]", text, maxsplit=1)[0]) for text in requirements}


@dataclass(frozen=True)
class Dist:
    """A folder under ``plugins/``: a plugin, a driver, or a library without an entry point."""

    folder: Path

    @cached_property
    def project(self) -> dict[str, Any]:
        """The ``[project]`` table of its ``pyproject.toml``."""
        with (self.folder / "pyproject.toml").open("rb") as file:
            table: dict[str, Any] = tomllib.load(file)["project"]
            return table

    @property
    def name(self) -> str:
        """The dist's name, such as ``hookline-files``."""
        return str(self.project["name"])

    @property
    def module(self) -> str:
        """The import name, such as ``hookline_files``."""
        return self.name.replace("-", "_")

    @property
    def modules(self) -> frozenset[str]:
        """The import names of all its packages: one for each plugin that it brings."""
        return frozenset(path.parent.name for path in self.source.glob("*/__init__.py"))

    @property
    def source(self) -> Path:
        """The folder of its packages."""
        return self.folder / "src"

    @property
    def entry_points(self) -> dict[str, tuple[str, str]]:
        """Entry point name to (group, value), of Hookline's groups alone."""
        groups = self.project.get("entry-points", {})
        return {
            name: (group, value)
            for group in GROUPS
            for name, value in groups.get(group, {}).items()
        }

    @property
    def is_library(self) -> bool:
        """True for code that plugins share, which nobody switches on."""
        return not self.entry_points

    @property
    def is_plugin(self) -> bool:
        """True if it is switched on under ``plugins:``; drivers and libraries are not."""
        return any(group == "hookline.plugins" for group, _ in self.entry_points.values())

    @property
    def dependencies(self) -> set[str]:
        """The dists it declares, optional ones included."""
        extras = self.project.get("optional-dependencies", {}).values()
        return required([*self.project.get("dependencies", []), *(r for e in extras for r in e)])


@cache
def dists() -> tuple[Dist, ...]:
    """Every dist under ``plugins/``, by folder name."""
    return tuple(Dist(path.parent) for path in sorted(PLUGINS.glob("*/*/pyproject.toml")))


@cache
def root_pyproject() -> dict[str, Any]:
    """The root ``pyproject.toml``."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)


def tracked_files() -> list[Path]:
    """What git tracks or would track, as absolute paths of files that exist."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


@dataclass(frozen=True)
class Import:
    """One import of another package: the dotted name, and where it stands."""

    module: str
    file: Path
    line: int

    @property
    def top(self) -> str:
        """The first part of the dotted name."""
        return self.module.partition(".")[0]

    def __str__(self) -> str:
        return f"{self.file.relative_to(ROOT)}:{self.line} imports {self.module}"


def imports(file: Path) -> Iterator[Import]:
    """Every absolute import in a file, at any depth; ``from a import b`` is told as ``a.b``."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"), str(file))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, file, node.lineno)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            for alias in node.names:
                yield Import(f"{node.module}.{alias.name}", file, node.lineno)


def imports_below(folder: Path) -> list[Import]:
    """The imports of every Python file below a folder."""
    return [found for file in sorted(folder.rglob("*.py")) for found in imports(file)]


def needed(dist: Dist) -> list[Dist]:
    """A dist and those of the workspace that it depends on."""
    by_name = {normal(other.name): other for other in dists()}
    found: dict[str, Dist] = {}
    waiting = [normal(dist.name)]
    while waiting:
        name = waiting.pop()
        if name in by_name and name not in found:
            found[name] = by_name[name]
            waiting += by_name[name].dependencies
    return list(found.values())
