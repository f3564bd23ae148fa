"""Surveys a folder, level by level: which files it has, and which of them are skipped. For names
known from last time the decision is reused; only new names, and names below a changed
``.gitignore``, are checked again. A link is never followed."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from . import exclusion_rules as rules
from .errors import TooLarge
from .exclusion_rules import CheckPath, ExclusionRules
from .folder_state import FileStamp, FolderState
from .git import Git

MAX_PATH_BYTES = 3000
"""Bytes of a relative path; longer ones cannot be opened by their full name."""
_MAX_ENTRIES_FACTOR = 4
"""Entries that are examined for each file that may be saved."""
_IGNORE_FILE = ".gitignore"
_CACHED_REASONS = frozenset({"ignored", "secret"})
"""Reasons that stay valid until a ``.gitignore`` changes; the others are checked each time."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The settings for surveys of one folder: its path and what is skipped. ``own`` is Hookline's
    home as a path below the folder, empty if it lies elsewhere."""

    path: Path
    own: str
    excluded: ExclusionRules
    check_path: CheckPath
    git: Git
    max_file: int
    max_files: int


@dataclass(slots=True)
class Survey:
    """The folder's current content. The fields are as in ``FolderState``; ``files`` have no ids
    yet."""

    files: dict[str, FileStamp] = field(default_factory=dict)
    folders: dict[str, int] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    ignores: dict[str, FileStamp] = field(default_factory=dict)


@dataclass(slots=True)
class _Level:
    """One level of folders: their subfolders, and the entries still to be checked. ``below`` are
    pairs of a folder and whether all of its entries must be checked again."""

    below: list[tuple[str, bool]] = field(default_factory=list)
    unknown: list[tuple[str, FileStamp, bool]] = field(default_factory=list)


async def look(scope: Scope, state: FolderState) -> Survey:
    """Survey the whole folder. Raises ``TooLarge``, ``GitFailed`` and ``OSError``."""
    survey = Survey()
    folders: list[tuple[str, bool]] = [("", not state.seen)]
    budget = _Budget(scope.max_files)
    while folders:
        level = await asyncio.to_thread(_scan, scope, state, survey, folders, budget)
        folders = level.below + await _ask(scope, survey, level.unknown)
        budget.check(len(survey.files))
    return survey


class _Budget:
    """Stops the survey of a folder that is too large, before it takes long."""

    def __init__(self, max_files: int) -> None:
        self._max_files = max_files
        self._entries = 0

    def check(self, files: int, entries: int = 0) -> None:
        """Count ``entries`` more; ``files`` is the total number of files so far."""
        self._entries += entries
        if files > self._max_files or self._entries > self._max_files * _MAX_ENTRIES_FACTOR:
            raise TooLarge(f"it holds more than {self._max_files:,} files")


def _scan(
    scope: Scope,
    state: FolderState,
    survey: Survey,
    folders: Sequence[tuple[str, bool]],
    budget: _Budget,
) -> _Level:
    level = _Level()
    for folder, fresh in folders:
        entries = _entries(scope.path, folder)
        if entries is None:
            survey.skipped[folder + "/"] = "unreadable"
            survey.folders.pop(folder, None)
            continue
        name = folder.rpartition("/")[2]
        if folder and scope.excluded.inside(name, entries):
            survey.skipped[folder + "/"] = "excluded"
            survey.folders.pop(folder, None)
            continue
        ignore = entries.get(_IGNORE_FILE)
        if ignore is not None:
            survey.ignores[folder] = ignore
        fresh = fresh or state.ignores.get(folder) != ignore
        _sort(scope, state, survey, level, folder, entries, fresh)
        budget.check(len(survey.files) + len(level.unknown), len(entries))
    return level


def _sort(
    scope: Scope,
    state: FolderState,
    survey: Survey,
    level: _Level,
    folder: str,
    entries: dict[str, FileStamp],
    fresh: bool,
) -> None:
    """Sort the entries of one folder into files, subfolders and skipped ones, as far as known."""
    prefix = folder + "/" if folder else ""
    skipped_before = {} if fresh else state.skipped
    files = {} if fresh else state.files
    for name, stamp in entries.items():
        path = prefix + name
        known = files.get(path)
        if known is not None and known.stamp == stamp:  # nearly all of them
            survey.files[path] = stamp
            continue
        mode = stamp.mode
        if stat.S_ISDIR(mode):
            before = skipped_before.get(path + "/", "")
            reason = _reason_against(scope, path, name, entries)
            if reason is None and before in _CACHED_REASONS:
                reason = before
            if reason is not None:
                survey.skipped[path + "/"] = reason
            elif before or (not fresh and path in state.folders):
                survey.folders[path] = stat.S_IMODE(mode)
                level.below.append((path, False))
            else:
                level.unknown.append((path, stamp, fresh))
        else:
            reason = _skip_reason(scope, path, name, stamp)
            if reason is None and skipped_before.get(path) in _CACHED_REASONS:
                reason = skipped_before[path]
            if reason is not None:
                survey.skipped[path] = reason
            elif known is not None:
                survey.files[path] = stamp
            else:
                level.unknown.append((path, stamp, fresh))


def _reason_against(
    scope: Scope, path: str, name: str, siblings: dict[str, FileStamp]
) -> str | None:
    """Return why a folder is skipped regardless of the config."""
    if name.lower() == ".git":
        return "git"
    if scope.excluded.folder(name, siblings):
        return "excluded"
    if len(path) * 4 > MAX_PATH_BYTES and len(os.fsencode(path)) > MAX_PATH_BYTES:
        return "long"
    return "own" if path == scope.own else None


def _skip_reason(scope: Scope, path: str, name: str, stamp: FileStamp) -> str | None:
    """Return why a file or link is skipped regardless of the config."""
    if name.lower() == ".git":
        return "git"
    if len(path) * 4 > MAX_PATH_BYTES and len(os.fsencode(path)) > MAX_PATH_BYTES:
        return "long"
    if stat.S_ISREG(stamp.mode):
        return "large" if stamp.size > scope.max_file else None
    return None if stat.S_ISLNK(stamp.mode) else "special"


def _entries(root: Path, folder: str) -> dict[str, FileStamp] | None:
    """Return the entries of a folder with their stamps; None if it cannot be read."""
    path = os.path.join(root, folder) if folder else root  # noqa: PTH118 - called very often
    found: dict[str, FileStamp] = {}
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                try:
                    found[entry.name] = FileStamp.of(entry.stat(follow_symlinks=False))
                except FileNotFoundError:
                    continue  # gone since
    except OSError:
        return None
    return found


async def _ask(
    scope: Scope, survey: Survey, unknown: Sequence[tuple[str, FileStamp, bool]]
) -> list[tuple[str, bool]]:
    """Check names that are not known from last time; return the folders to survey next."""
    if not unknown:
        return []
    paths = [path for path, _, _ in unknown]
    secret, ignored = await asyncio.gather(
        asyncio.to_thread(rules.secrets, scope.check_path, scope.path, paths),
        rules.ignored(scope.git, scope.path, paths),
    )
    return list(_decided(survey, unknown, secret, ignored))


def _decided(
    survey: Survey,
    unknown: Sequence[tuple[str, FileStamp, bool]],
    secret: set[str],
    ignored: set[str],
) -> Iterator[tuple[str, bool]]:
    for path, stamp, fresh in unknown:
        is_folder = stat.S_ISDIR(stamp.mode)
        reason = "secret" if path in secret else "ignored" if path in ignored else None
        if reason is not None:
            survey.skipped[path + "/" if is_folder else path] = reason
        elif is_folder:
            survey.folders[path] = stat.S_IMODE(stamp.mode)
            yield path, fresh
        else:
            survey.files[path] = stamp
