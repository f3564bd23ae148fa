"""Finds files of the workspace by name, for completion.

The list is cached and searched at each key. In a git repository it comes from git, which leaves out
ignored files; a folder that was typed in full is read directly, so that every file can be
completed.
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
from hookline_hookspecs.own_programs import own_path, own_program

MAX_FILES = 200_000
"""Listed names. In a larger workspace, the others are found by typing their folder."""
MIN_CACHE_SECONDS = 5.0
CACHE_FACTOR = 20
"""A list is cached at least so many times as long as making it took."""
GIT_TIMEOUT = 5.0
"""Seconds."""
MAX_RESULTS = 50
MAX_FOLDER_ENTRIES = 2_000
"""Entries read of one folder."""
SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__", "venv"})
"""Never searched. Without git, hidden folders are skipped too."""


class WorkspaceFiles:
    """Finds paths below the workspace by a part of their name. Thread-safe."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._names: list[str] = []
        self._folded: list[str] = []
        self._known: frozenset[str] = frozenset()
        self._refresh_at = float("-inf")
        self._lock = threading.Lock()

    def search(self, typed: str, *, folders_only: bool = False) -> list[str]:
        """Return at most :data:`MAX_RESULTS` paths, the best first; folders end with ``/``."""
        with self._lock:
            return self._search(typed, folders_only)

    def _search(self, typed: str, folders_only: bool) -> list[str]:
        folder, slash, start = typed.rpartition("/")
        entries = self._folder_entries(folder + slash, start)
        found = [name for name in entries if not folders_only or name.endswith("/")]
        if typed and typed[-1] != "/" and not typed.startswith(("/", "~", "..")):
            self._refresh()
            ignored = [name for name in found if name not in self._known]
            found = [name for name in found if name in self._known]
            if len(typed) > 1:
                below = (n for n in self._ranked(typed) if not folders_only or n.endswith("/"))
                found += islice(below, MAX_RESULTS * 2)
            found += ignored  # by git, or skipped: last
        allowed = (name for name in dict.fromkeys(found) if self._paths.check_path(name) is None)
        return list(islice(allowed, MAX_RESULTS))

    def _folder_entries(self, folder: str, start: str) -> list[str]:
        """Return the entries of a folder that begin with ``start``; hidden ones after a dot."""
        prefix = start.casefold()
        try:
            with os.scandir(self._paths.resolve(folder or ".")) as entries:
                found = [
                    folder + entry.name + ("/" if entry.is_dir() else "")
                    for entry in islice(entries, MAX_FOLDER_ENTRIES)
                    if entry.name.casefold().startswith(prefix)
                    and (start or not entry.name.startswith("."))
                    and entry.name != ".git"
                ]
        except (OSError, ValueError):  # includes folders that the guard refuses
            return []
        return sorted(found)

    def _ranked(self, typed: str) -> Iterator[str]:
        """Yield matching paths, the best first.

        A match at the start of the name ranks first, then within the name, within the path, and
        last the letters with others between.
        """
        query = typed.casefold()
        scattered = re.compile(".*?".join(map(re.escape, query)))
        ranks: tuple[list[str], ...] = ([], [], [], [])
        for name, folded in zip(self._names, self._folded, strict=True):
            at = folded.rfind(query)
            name_at = folded.rfind("/", 0, len(folded) - 1) + 1
            if at >= 0 and at == name_at:
                ranks[0].append(name)
            elif at >= 0:
                ranks[1 if at > name_at else 2].append(name)
            elif len(query) > 2 and scattered.search(folded):
                ranks[3].append(name)
        for rank in ranks:
            yield from sorted(rank, key=lambda name: (name.count("/"), len(name), name))

    def _refresh(self) -> None:
        began = time.monotonic()
        if began < self._refresh_at:
            return
        root = Path(self._paths.workspace)
        listed = (n for n in _git_files(root) if SKIPPED_FOLDERS.isdisjoint(n.split("/")))
        names = list(islice(listed, MAX_FILES)) or list(islice(self._walk(root), MAX_FILES))
        folders = {parent for name in names for parent in _parents(name)}
        self._names = sorted({*names, *folders})
        self._folded = [name.casefold() for name in self._names]
        self._known = frozenset(self._names)
        took = time.monotonic() - began
        self._refresh_at = began + max(MIN_CACHE_SECONDS, took * CACHE_FACTOR)

    def _walk(self, root: Path) -> Iterator[str]:
        """Yield the files below ``root`` except those in hidden or skipped folders."""
        for folder, inner, files in os.walk(root):
            inner[:] = sorted(
                name for name in inner if name[0] != "." and name not in SKIPPED_FOLDERS
            )
            shown = Path(folder).relative_to(root).as_posix()
            prefix = "" if shown == "." else f"{shown}/"
            yield from (prefix + name for name in files)


def _git_files(root: Path) -> list[str]:
    """Return what git tracks or would track below ``root``; empty outside a repository."""
    # A repository's settings may name programs; the one that this command would run is turned off.
    if (git := own_program("git")) is None:
        return []
    argv = [git, "-c", "core.fsmonitor=false", "ls-files", "-z", "-co", "--exclude-standard"]
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            argv,
            cwd=root,
            env=env | {"GIT_OPTIONAL_LOCKS": "0", "PATH": own_path()},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=GIT_TIMEOUT,
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
