"""The import graph of every package has no cycles, and core's rooms keep their order."""

from __future__ import annotations

from pathlib import Path

import pytest

from meta.import_graph import Edge, circles, graph, layers
from meta.tree import CORE, HOOKSPECS, Dist, dists

ROOMS = (
    "clock text home tasks",
    "config/",
    "log",
    "store/",
    "io/",
    "bus/",
    "engine",
    "sessions/",
    "questions/",
    "turn/",
    "dispatch/",
    "plugins/",
    "inspection runtime",
    "cli/",
    "testing/",
)
"""Core's rooms from the first to the last: a folder (``name/``), or modules beside the folders.

A module imports only its own room and rooms above it.
"""
FIRST, LAST = -1, len(ROOMS)
OUTSIDE = {"": FIRST, "__main__": LAST}
"""The modules in no room: the package itself, which holds the version, and the script."""


def _by_folder(dist: Dist) -> str:
    return dist.folder.name


def _without_circle(package: Path) -> None:
    found = ["\n  ".join(map(str, circle)) for circle in circles(graph(package))]
    assert not found, "\n".join(
        ["move what both sides need into a module that imports neither:", *found]
    )


@pytest.mark.parametrize("dist", dists(), ids=_by_folder)
def test_dist_has_no_import_cycle(dist: Dist) -> None:
    for name in dist.modules:
        _without_circle(dist.source / name)


def test_hookspecs_have_no_import_cycle() -> None:
    _without_circle(HOOKSPECS)


def test_core_has_no_import_cycle() -> None:
    _without_circle(CORE)


def test_core_modules_all_belong_to_a_room() -> None:
    homeless = [name for name in graph(CORE) if _room(name) is None]
    assert not homeless, f"put these into a room of {__name__}.ROOMS: {homeless}"


def test_core_rooms_import_only_rooms_above_them() -> None:
    edges = [edge for found in graph(CORE).values() for edge in found]
    wrong = [edge for edge in edges if not _goes_up(edge)]
    assert not wrong, "\n".join(["a room imports only rooms above it:", *map(str, wrong)])


def _goes_up(edge: Edge) -> bool:
    above, below = _room(edge.imported), _room(edge.importer)
    if above is None or below is None:
        return True  # the test above names it
    if above[0] != below[0]:
        return above[0] < below[0]
    return above[1] is None or below[1] is None or above[1] < below[1]


def _room(module: str) -> tuple[int, int | None] | None:
    """A module's room and its place in it, which a helper module has not; None without a room."""
    inside = module.removeprefix("hookline").removeprefix(".")
    if inside in OUTSIDE:
        return OUTSIDE[inside], 0
    top, _, rest = inside.partition(".")
    for level, room in enumerate(ROOMS):
        first, *names = room.split()
        if first == f"{top}/":
            part = rest.partition(".")[0]
            if not part:
                return level, len(names)  # the folder's __init__ may export all its modules
            return level, names.index(part) if part in names else None
        if not rest and top in (first, *names) and not first.endswith("/"):
            return level, [first, *names].index(top)
    return None


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package ``pkg`` with one circle, of which no import stands at the top of a module."""
    sources = {
        "__init__.py": "from .high import a\nfrom .sub import value\n",
        "low.py": "import json\nfrom other.high import a\n",
        "high.py": "from . import low\nimport pkg.sub.part\n",
        "sub/__init__.py": "from .part import value\n",
        "sub/part.py": "def value():\n    from ..ring import a\n",
        "ring.py": (
            "from typing import TYPE_CHECKING\n"
            "def late():\n    from pkg.sub import value, other\n"
            "if TYPE_CHECKING:\n    from pkg.high import a\n"
        ),
    }
    for name, source in sources.items():
        file = tmp_path / "pkg" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source, "utf-8")
    return tmp_path / "pkg"


def test_import_graph_counts_imports_anywhere_in_a_module(package: Path) -> None:
    found = {name: [edge.imported for edge in edges] for name, edges in graph(package).items()}
    assert found == {
        "pkg": ["pkg.high", "pkg.sub"],
        "pkg.high": ["pkg.low", "pkg.sub.part"],
        "pkg.low": [],
        "pkg.ring": ["pkg.sub"],
        "pkg.sub": ["pkg.sub.part"],
        "pkg.sub.part": ["pkg.ring"],
    }


def test_import_cycle_is_reported_with_its_lines(package: Path) -> None:
    assert [[str(edge) for edge in circle] for circle in circles(graph(package))] == [
        [
            f"{package}/ring.py:3 imports pkg.sub",
            f"{package}/sub/__init__.py:1 imports pkg.sub.part",
            f"{package}/sub/part.py:2 imports pkg.ring",
        ]
    ]


def test_layers_start_with_modules_that_import_nothing(package: Path) -> None:
    assert layers(graph(package)) == [
        ["pkg.low", "pkg.ring", "pkg.sub", "pkg.sub.part"],
        ["pkg.high"],
        ["pkg"],
    ]
