"""Recognises Hookline's own files: its home except the workspace, and copies of the home.

The home is recognised however it is reached: by its name in any spelling, by a bind mount, by a
hard link to one of its files, or by the places that its config names for copies. The homes of
other profiles, and those that a restore leaves next to the home, are included.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from .mounts import aliases
from .name_forms import components
from .rules import rules
from .shape import is_in, shown

FRESH_SECONDS = 1.0
"""Seconds for which the list of mounts, and that of the inodes in home, is cached."""


class OwnFiles:
    """Decides which files are Hookline's own, for one workspace.

    home: Hookline's folder. roots: the folders that the workspace may use, resolved.
    """

    def __init__(self, home: Path, roots: Sequence[str]) -> None:
        self._home = os.path.realpath(home.expanduser()).rstrip(os.sep) or os.sep
        self._work = tuple(work for root in roots if (work := self._work_of(root)))
        copies = (place for place in _named_copies(Path(self._home)) if not _holds(place, roots))
        self._copies = (*(slashed(place) for place in copies), *_beside(Path(self._home)))
        self._given: set[str] = set()
        self._names: tuple[tuple[str, str, str], ...] = ()
        self._names_until = 0.0
        self._inodes: frozenset[tuple[int, int]] = frozenset()
        self._inodes_until = 0.0

    def give(self, path: Path) -> None:
        """Allow reading a file below ``media`` that came with a message of this chat."""
        real = os.path.realpath(path)
        media = os.path.realpath(os.path.join(self._home, "media"))  # noqa: PTH118 - may be shared
        if is_in(real, media) and os.path.isfile(real):  # noqa: PTH113
            self._given.add(real)

    def is_given(self, real: str) -> bool:
        """True if `give` was called for the file, which may then only be read."""
        return real in self._given

    def reason(self, asked: str, real: str, parts: Sequence[str]) -> str | None:
        """Why `asked` is off limits, or None; `parts` are the folded components of `real`."""
        if self._is_own(real, parts):
            return (
                f"The path {shown(asked)} belongs to Hookline itself: "
                "use its commands (`hookline config`, `hookline memory`) instead."
            )
        return None

    def same_file(self, status: os.stat_result) -> bool:
        """True if a file with several names has one of them in home."""
        if status.st_nlink < 2 or not stat.S_ISREG(status.st_mode):
            return False
        return (status.st_dev, status.st_ino) in self._home_inodes()

    def _is_own(self, real: str, parts: Sequence[str]) -> bool:
        folded = "/".join(parts).rstrip("/") + "/"
        for spelling, name, part in self._home_names():
            if folded.startswith(spelling):
                # A work folder only counts in the exact spelling of home.
                rest = real[len(name) :].lstrip(os.sep)
                return not (is_in(real, name) and self._is_open(os.path.join(part, rest)))  # noqa: PTH118
        if any(folded.startswith(copy) for copy in self._copies):
            return True
        return rules().own.find_among(parts) is not None

    def _is_open(self, inner: str) -> bool:
        """True if a path relative to home is in the chat's work folder, or was given to it."""
        for work in self._work:
            if is_in(inner, work):
                return rules().own.find(inner[len(work) :]) is None
        return os.path.join(self._home, inner) in self._given  # noqa: PTH118

    def _work_of(self, root: str) -> str:
        """The work folder, relative to home, that a root allows; empty for none."""
        if not is_in(root, self._home) or root == self._home:
            return ""
        parts = Path(root).relative_to(self._home).parts
        for pattern in rules().work:
            pairs = list(zip(pattern, parts, strict=False))
            if len(pairs) == len(pattern) and all(p in ("*", name) for p, name in pairs):
                return str(Path(*parts[: len(pattern)]))
        return ""

    def _home_names(self) -> tuple[tuple[str, str, str], ...]:
        """All paths of home or a part of it: folded with a final slash, as it is, and the part."""
        if (now := time.monotonic()) >= self._names_until:
            names = ((self._home, ""), *aliases(self._home))
            self._names = tuple((slashed(name), name, part) for name, part in names)
            self._names_until = now + FRESH_SECONDS
        return self._names

    def _home_inodes(self) -> frozenset[tuple[int, int]]:
        if (now := time.monotonic()) >= self._inodes_until:
            skip = {os.path.join(self._home, work) for work in self._work}  # noqa: PTH118
            self._inodes = frozenset(_inodes(self._home, skip))
            self._inodes_until = now + FRESH_SECONDS
        return self._inodes


def slashed(path: str) -> str:
    """`path` folded, with forward slashes and a final one."""
    return "/".join(components(path)).rstrip("/") + "/"


def _holds(place: str, roots: Sequence[str]) -> bool:
    return any(is_in(root, place) for root in roots)


def _inodes(home: str, skip: set[str]) -> Iterator[tuple[int, int]]:
    """Device and inode of all files below `home`, without calling `stat` for each."""
    pending = [home]
    while pending:
        folder = pending.pop()
        try:
            device = os.lstat(folder).st_dev
            with os.scandir(folder) as entries:
                for entry in entries:
                    if not entry.is_dir(follow_symlinks=False):
                        yield device, entry.inode()
                    elif entry.path not in skip:
                        pending.append(entry.path)
        except OSError:
            continue  # removed meanwhile


def _beside(home: Path) -> Iterator[str]:
    """Folded prefixes of the paths of other profiles, and of homes that a restore left."""
    if home.parent.name == "profiles":
        yield slashed(str(home.parent.parent))
    for name in (f"{home.name}.before-", f".{home.name}.restoring-"):
        yield slashed(str(home.with_name(name))).rstrip("/")


def _named_copies(home: Path) -> tuple[str, ...]:
    """The places outside home that its config names for backups and exports."""
    file = home / "config.yaml"
    try:
        status = file.stat()
    except OSError:
        return ()
    return _copies_in(file, status.st_mtime_ns, status.st_size, status.st_ino)


@lru_cache(maxsize=8)  # it is called for every session
def _copies_in(file: Path, *_version: int) -> tuple[str, ...]:
    try:
        data = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError):
        return ()
    values = _values(data.get("plugins") if isinstance(data, dict) else None)
    places = [os.path.expanduser(os.path.expandvars(value)) for value in values]  # noqa: PTH111
    return tuple(os.path.realpath(place) for place in places if os.path.isabs(place))  # noqa: PTH117


def _values(data: Any) -> Iterator[str]:
    """The strings in settings whose names are about copies."""
    if not isinstance(data, dict):
        return
    for key, value in data.items():
        if not rules().copies.search(str(key).lower()):
            yield from _values(value)
        elif isinstance(value, dict):
            yield from (text for text in value.values() if isinstance(text, str))
            yield from _values(value)
        else:
            values = value if isinstance(value, list) else [value]
            yield from (text for text in values if isinstance(text, str))
