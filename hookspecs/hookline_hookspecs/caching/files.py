"""Files that are not read again while they are as they were."""

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
"""What ``stat`` says, or the number of its error: no file at a path is a state too."""

SETTLED = 2_000_000_000
"""Nanoseconds for which a file must have been left alone when it is looked at. One that is changed
twice within a tick of its file system's clock, at most two seconds long, shows no difference."""


class Watch:
    """Paths, as they were before they were read. Links are followed."""

    def __init__(self) -> None:
        self._files: dict[str, State] = {}
        self._folders: dict[str, State] = {}
        self._is_settled = True

    def look(self, path: str | Path) -> None:
        """Note a file, or a folder that is listed, which may be missing; call this before it is
        opened."""
        name = str(path)
        if name not in self._files:
            state = self._files[name] = _state(name)
            newest = max(state[-2:]) if len(state) > 1 else 0
            self._is_settled &= newest < time.time_ns() - SETTLED

    def look_at_folder(self, path: str | Path) -> None:
        """Note which folder is at a path, and whose; what is in it may change."""
        self._folders[str(path)] = _identity(str(path))

    @property
    def is_settled(self) -> bool:
        """False if a file had been changed so recently that another change might not show."""
        return self._is_settled

    def is_unchanged(self) -> bool:
        """Return whether everything is as it was."""
        return all(_state(path) == state for path, state in self._files.items()) and all(
            _identity(path) == state for path, state in self._folders.items()
        )


class FileCache(Generic[K, V]):
    """What was made of files, the ``most`` that were used last. Threads may share one."""

    def __init__(self, most: int = 64) -> None:
        self._most = most
        self._kept: OrderedDict[K, tuple[V, Watch]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: K) -> V | None:
        """Return what was made, or None if one of its files has changed."""
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
        """Keep ``value``, made of the files that ``watch`` has looked at."""
        with self._lock:
            self._kept.pop(key, None)
            if watch.is_settled:
                self._kept[key] = value, watch
                if len(self._kept) > self._most:
                    self._kept.popitem(last=False)


def _state(path: str) -> State:
    try:
        found = os.stat(path)  # noqa: PTH116 - a path object costs more than the call
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
