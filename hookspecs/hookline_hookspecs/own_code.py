"""Names the code that Hookline is running: tools may read it, and none may write it.

In a clone, or where Hookline is installed in a project's virtual environment, that code lies in the
workspace. What a tool writes there would run with all of Hookline's rights at its next start, or
sooner, because modules are imported when they are first needed.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from types import ModuleType

SHARED_PREFIXES = ("/", "/usr", "/usr/local", "/opt", "/opt/homebrew")
"""Prefixes of an interpreter that hold more than its own files (PEP 668, sysconfig)."""
WHAT_TO_DO = (
    "for other packages use an environment of their own (`python3 -m venv other-env`); to work on "
    "Hookline itself, the operator sets `paths: {edit_own_code: true}` in config.yaml"
)
_CODE_PATHS = ("stdlib", "platstdlib", "purelib", "platlib")


def own_code() -> tuple[str, ...]:
    """Return real paths of the folders, and single files, with the code that is running.

    These are the interpreter's environment (``sys.prefix``), its standard library, the packages of
    every loaded module, and Hookline's distributions that are linked into the environment (editable
    installs). None of them is inside another one.
    """
    newest = next(reversed(sys.modules))
    return _own_code(len(sys.modules), newest, _file(sys.modules.get(newest)))


def own_code_around(path: str) -> str | None:
    """Return the folder or file of :func:`own_code` that a real path is or is in, if there is one.

    Letter case does not matter, because file systems differ in it.
    """
    places = own_code()
    folded = path.casefold().rstrip("/") + "/"
    if not folded.startswith(_folded(places)):
        return None
    return next(place for place in places if folded.startswith(_folded((place,))))


@lru_cache(maxsize=1)
def _own_code(*_loaded: object) -> tuple[str, ...]:
    """Return them, found anew when a module was loaded."""
    found: list[str] = []
    for place in sorted({*_environment(), *_loaded_packages()}):
        if not any(place.startswith(kept.rstrip("/") + "/") for kept in found):
            found.append(place)
    return tuple(found)


@lru_cache(maxsize=128)
def _folded(places: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(place.casefold().rstrip("/") + "/" for place in places)


@cache
def _environment() -> tuple[str, ...]:
    """Return the places of the interpreter, and of the distributions linked into it."""
    prefixes = (os.path.realpath(prefix) for prefix in (sys.prefix, sys.base_prefix))
    places = [prefix for prefix in prefixes if prefix not in SHARED_PREFIXES]
    folders = {os.path.realpath(sysconfig.get_path(name)) for name in _CODE_PATHS}
    return (*places, *folders, *(place for folder in folders for place in _linked(Path(folder))))


def _linked(site_packages: Path) -> Iterator[str]:
    """Yield the folders of Hookline's editable installs (the lines of ``.pth`` files, site)."""
    for file in site_packages.glob("*hookline*.pth"):
        for line in file.read_text("utf-8", "replace").splitlines():
            place = os.path.realpath(site_packages / line.strip())
            if line.strip() and Path(place).is_dir():
                yield place


def _loaded_packages() -> Iterator[str]:
    """Yield the outermost package of every module that was loaded from elsewhere."""
    known = tuple(place.rstrip("/") + "/" for place in _environment())
    for name, module in list(sys.modules.items()):
        file = _file(module)
        if not file or file.startswith(known):
            continue
        outermost = _file(sys.modules.get(name.partition(".")[0]))
        is_single = outermost and Path(outermost).stem != "__init__"
        yield os.path.realpath(outermost if is_single else Path(outermost or file).parent)


def _file(module: ModuleType | None) -> str:
    """Return the file that a module was loaded from; empty if there is none."""
    file = getattr(module, "__file__", None)
    return file if isinstance(file, str) and Path(file).is_absolute() else ""
