"""Caches values computed from files until the files change."""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from pathlib import Path
from typing import Generic, TypeAlias, TypeVar

K = TypeVar("K")
V = TypeVar("V")
State: TypeAlias = "tuple[int, ...]"
"""The result of ``stat``, or its error number: a missing file is a state too."""

SETTLE_NANOSECONDS = 2_000_000_000
"""Age that a file's last change must have. Two changes within one tick of the file system's clock,
which is at most two seconds long, cannot be distinguished."""


class Watch:
    """Records the state of paths before they are read. Links are followed."""

    def __init__(self) -> None:
        self._files: dict[str, State] = {}
        self._folders: dict[str, State] = {}
        self._is_settled = True

    def look(self, path: str | Path) -> None:
        """Record a file, or a folder that will be listed; it may be missing. Call this before it is
        opened."""
        name = str(path)
        if name not in self._files:
            state = self._files[name] = _state(name)
            newest = max(state[-2:]) if len(state) > 1 else 0
            self._is_settled &= newest < time.time_ns() - SETTLE_NANOSECONDS

    def look_at_folder(self, path: str | Path) -> None:
        """Record a folder's identity and owner, but not its content."""
        self._folders[str(path)] = _identity(str(path))

    @property
    def is_settled(self) -> bool:
        """False if a file was changed so recently that another change could go unnoticed."""
        return self._is_settled

    def is_unchanged(self) -> bool:
        """Return True if nothing has changed."""
        return all(_state(path) == state for path, state in self._files.items()) and all(
            _identity(path) == state for path, state in self._folders.items()
        )


class FileCache(Generic[K, V]):
    """Caches the ``most`` recently used values that were computed from files. Thread-safe."""

    def __init__(self, most: int = 64) -> None:
        self._most = most
        self._kept: OrderedDict[K, tuple[V, Watch]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: K) -> V | None:
        """Return the cached value, or None if there is none or one of its files has changed."""
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                return None
            if not found[1].is_unchanged():
                del self._kept[key]
                return None
            self._kept.move_to_end(key)
            return found[0]

    def put(self, key: K, value: V, watch: Watch) -> None:
        """Cache ``value``, which was computed from the files that ``watch`` has recorded."""
        with self._lock:
            self._kept.pop(key, None)
            if watch.is_settled:
                self._kept[key] = value, watch
                if len(self._kept) > self._most:
                    self._kept.popitem(last=False)


def _state(path: str) -> State:
    try:
        found = os.stat(path)  # noqa: PTH116 - a Path would take longer than the call
    except OSError as error:
        return (error.errno or -1,)
    except ValueError:  # a NUL in the path
        return (-1,)
    return (*_owner(found), found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def _identity(path: str) -> State:
    try:
        return _owner(os.stat(path))  # noqa: PTH116
    except OSError as error:
        return (error.errno or -1,)
    except ValueError:
        return (-1,)


def _owner(found: os.stat_result) -> State:
    return found.st_dev, found.st_ino, found.st_mode, found.st_uid
