"""The files of the workspace by name, for completion: found once, looked through at every key.

In a git repository git says which there are, so that what ``.gitignore`` names is left out; a
folder that was typed in full is read itself, so that nothing is out of reach.
"""

from __future__ import annotations

import os
import re
import subprocess
import threading
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from hookline_hookspecs import Paths

MOST_FILES = 200_000
"""Names that are kept; of a larger workspace the others are found by typing their folder."""
FRESH = 5.0
"""Seconds for which a list is used again."""
SHARE = 20
"""A list that took a second is used for at least this many."""
GIT_SECONDS = 5.0
MOST_OFFERED = 50
MOST_ENTRIES = 2_000
"""Entries of a folder that are looked at."""
SKIPPED = frozenset({"node_modules", "__pycache__", "venv"})
"""Folders that are not entered; hidden ones neither where there is no git."""


class Files:
    """Finds paths below the workspace by a part of their name, in any thread."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._names: list[str] = []
        self._folded: list[str] = []
        self._known: frozenset[str] = frozenset()
        self._next = float("-inf")
        self._lock = threading.Lock()

    def like(self, typed: str, *, folders_only: bool = False) -> list[str]:
        """At most :data:`MOST_OFFERED` paths, the best first; folders end with ``/``."""
        with self._lock:
            return self._like(typed, folders_only)

    def _like(self, typed: str, folders_only: bool) -> list[str]:
        folder, slash, start = typed.rpartition("/")
        beside = self._beside(folder + slash, start)
        found = [name for name in beside if not folders_only or name.endswith("/")]
        if typed and typed[-1] != "/" and not typed.startswith(("/", "~", "..")):
            self._refresh()
            last = [name for name in found if name not in self._known]
            found = [name for name in found if name in self._known]
            if len(typed) > 1:
                below = (n for n in self._ranked(typed) if not folders_only or n.endswith("/"))
                found += islice(below, MOST_OFFERED * 2)
            found += last  # what git ignores, and caches
        allowed = (name for name in dict.fromkeys(found) if self._paths.judge(name) is None)
        return list(islice(allowed, MOST_OFFERED))

    def _beside(self, folder: str, start: str) -> list[str]:
        """The entries of the folder that is typed already; hidden ones if a dot was typed."""
        wanted = start.casefold()
        try:
            with os.scandir(self._paths.resolve(folder or ".")) as entries:
                found = [
                    folder + entry.name + ("/" if entry.is_dir() else "")
                    for entry in islice(entries, MOST_ENTRIES)
                    if entry.name.casefold().startswith(wanted)
                    and (start or not entry.name.startswith("."))
                    and entry.name != ".git"
                ]
        except (OSError, ValueError):  # refused ones too
            return []
        return sorted(found)

    def _ranked(self, typed: str) -> Iterator[str]:
        """The paths that hold ``typed``: as the start of the name, in it, in the path, or with
        other letters between."""
        wanted = typed.casefold()
        scattered = re.compile(".*?".join(map(re.escape, wanted)))
        ranks: tuple[list[str], ...] = ([], [], [], [])
        for name, folded in zip(self._names, self._folded, strict=True):
            place = folded.rfind(wanted)
            if place >= 0:
                cut = folded.rfind("/", 0, len(folded) - 1) + 1
                ranks[0 if place == cut else 1 if place > cut else 2].append(name)
            elif len(wanted) > 2 and scattered.search(folded):
                ranks[3].append(name)
        for rank in ranks:
            yield from sorted(rank, key=lambda name: (name.count("/"), len(name), name))

    def _refresh(self) -> None:
        began = time.monotonic()
        if began < self._next:
            return
        root = Path(self._paths.workspace)
        listed = (name for name in _of_git(root) if SKIPPED.isdisjoint(name.split("/")))
        names = list(islice(listed, MOST_FILES)) or list(islice(self._walked(root), MOST_FILES))
        folders = {parent for name in names for parent in _parents(name)}
        self._names = sorted({*names, *folders})
        self._folded = [name.casefold() for name in self._names]
        self._known = frozenset(self._names)
        took = time.monotonic() - began
        self._next = began + max(FRESH, took * SHARE)

    def _walked(self, root: Path) -> Iterator[str]:
        """The files below ``root`` without those in hidden folders."""
        for folder, inner, files in os.walk(root):
            inner[:] = sorted(n for n in inner if not n.startswith(".") and n not in SKIPPED)
            shown = Path(folder).relative_to(root).as_posix()
            prefix = "" if shown == "." else f"{shown}/"
            yield from (prefix + name for name in files)


def _of_git(root: Path) -> list[str]:
    """What git tracks or would track below ``root``; nothing where there is no repository."""
    # A repository's own settings may name programs; the one that this command would run is off.
    argv = ["git", "-c", "core.fsmonitor=false", "ls-files", "-z", "-co", "--exclude-standard"]
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            argv,
            cwd=root,
            env=env | {"GIT_OPTIONAL_LOCKS": "0"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=GIT_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return []
    return list(_decoded(done.stdout.split(b"\0")))


def _decoded(names: Iterable[bytes]) -> Iterator[str]:
    for name in names:
        text = os.fsdecode(name)
        if text.isprintable() and text:
            yield text


def _parents(name: str) -> Iterator[str]:
    place = name.find("/")
    while place >= 0:
        yield name[: place + 1]
        place = name.find("/", place + 1)
