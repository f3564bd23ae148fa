"""The graph of imports between the modules of one package, its circles and its layers.

``PYTHONPATH=tests python -m meta.import_graph [PACKAGE ...]`` prints the modules layer by layer,
those that import nothing of their package first; without a name it prints every package of the
repository. Exit code 1 if a package has a circle.

An import counts at the top of a module and in a function, not below ``if TYPE_CHECKING:``, where
only a type checker reads it. That importing ``a.b`` also runs ``a/__init__.py`` does not count, or
no ``__init__`` could export the names of its modules.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from meta.tree import CORE, HOOKSPECS, ROOT, dists


@dataclass(frozen=True)
class Edge:
    """One import of a module by another of the same package."""

    importer: str
    imported: str
    file: Path
    line: int

    def __str__(self) -> str:
        place = self.file.relative_to(ROOT) if self.file.is_relative_to(ROOT) else self.file
        return f"{place}:{self.line} imports {self.imported}"


Graph = Mapping[str, tuple[Edge, ...]]
"""Every module of a package, by dotted name, to its imports of other modules of the package."""


def graph(package: Path) -> Graph:
    """Read the imports of every module in a package's folder; an ``__init__`` is its package."""
    files = {_dotted(package, file): file for file in sorted(package.rglob("*.py"))}
    return {name: tuple(_edges(name, file, files)) for name, file in files.items()}


def _dotted(package: Path, file: Path) -> str:
    parts = (package.name, *file.relative_to(package).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _edges(importer: str, file: Path, files: Mapping[str, Path]) -> Iterator[Edge]:
    seen = {importer}
    for name, line in _imported_names(importer, file):
        module = _module_of(name, files)
        if module and module not in seen:
            seen.add(module)
            yield Edge(importer, module, file, line)


def _imported_names(importer: str, file: Path) -> Iterator[tuple[str, int]]:
    """The absolute dotted name of everything imported; ``from a import b`` gives ``a.b``."""
    here = importer if file.name == "__init__.py" else importer.rpartition(".")[0]
    for node in _running(ast.parse(file.read_text("utf-8"), str(file))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = here.split(".")[: here.count(".") + 2 - node.level] if node.level else []
            prefix = ".".join([*base, *filter(None, [node.module])])
            yield from ((f"{prefix}.{alias.name}", node.lineno) for alias in node.names)


def _running(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node but those below ``if TYPE_CHECKING:``."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            continue
        yield node
        yield from _running(node)


def _module_of(name: str, files: Mapping[str, Path]) -> str | None:
    """The module that holds a name: itself if it is a module, or else its parent."""
    if name in files:
        return name
    parent = name.rpartition(".")[0]
    return parent if parent in files else None


def circles(modules: Graph) -> list[list[Edge]]:
    """One shortest circle for each group of modules that import each other, as its imports."""
    return [_circle(modules, group) for group in _groups(modules) if len(group) > 1]


def layers(modules: Graph) -> list[list[str]]:
    """The modules by height: each imports only modules of lower layers, or of its own circle."""
    height: dict[str, int] = {}
    for group in _groups(modules):
        below = (edge.imported for name in group for edge in modules[name])
        level = 1 + max((height[name] for name in below if name not in group), default=-1)
        height.update(dict.fromkeys(group, level))
    return [
        sorted(name for name in height if height[name] == level)
        for level in range(1 + max(height.values(), default=-1))
    ]


def _groups(modules: Graph) -> list[set[str]]:
    """Strongly connected modules, imported ones first (Tarjan's algorithm)."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    waiting: list[str] = []
    groups: list[set[str]] = []

    def visit(name: str) -> None:
        number[name] = low[name] = len(number)
        waiting.append(name)
        for edge in modules[name]:
            if edge.imported not in number:
                visit(edge.imported)
                low[name] = min(low[name], low[edge.imported])
            elif edge.imported in waiting:
                low[name] = min(low[name], number[edge.imported])
        if low[name] == number[name]:
            start = waiting.index(name)
            groups.append(set(waiting[start:]))
            del waiting[start:]

    for name in modules:
        if name not in number:
            visit(name)
    return groups


def _circle(modules: Graph, group: set[str]) -> list[Edge]:
    """A shortest way from the first module of a group back to itself, found by breadth."""
    start = min(group)
    ways: list[list[Edge]] = [[edge] for edge in modules[start] if edge.imported in group]
    reached: set[str] = set()
    for way in ways:  # grows while it is walked
        end = way[-1].imported
        if end == start:
            return way
        if end not in reached:
            reached.add(end)
            ways += [[*way, edge] for edge in modules[end] if edge.imported in group]
    raise AssertionError(f"{sorted(group)} has no way back to {start}")


def packages() -> dict[str, Path]:
    """Every package of the repository: import name to folder."""
    return {
        folder.name: folder
        for folder in (HOOKSPECS, CORE, *(d.source / name for d in dists() for name in d.modules))
    }


def main(names: list[str]) -> int:
    """Print the layers and circles of the named packages, or of all."""
    known = packages()
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"no package {', '.join(unknown)}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    found = False
    for package in names or known:
        modules = graph(known[package])
        print(package)
        for level, layer in enumerate(layers(modules)):
            print(f"  {level}  {'  '.join(name.removeprefix(f'{package}.') for name in layer)}")
        for circle in circles(modules):
            found = True
            print("  circle:", *circle, sep="\n    ")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
