"""Detects leaked threads, open files and tasks."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

OPEN_FILES = Path("/proc/self/fd")
"""The system's list of this process's open files; does not exist on every system."""
THREAD_END_TIMEOUT = 5.0
"""Seconds that a thread may take to end."""


@dataclass(frozen=True, slots=True)
class ResourceSnapshot:
    """The running threads, and the open files with the number of times each is open."""

    threads: frozenset[threading.Thread]
    files: Counter[str]

    @classmethod
    def now(cls) -> ResourceSnapshot:
        """Take a snapshot of this process."""
        return cls(frozenset(threading.enumerate()), _open_files())

    def leaked(self) -> list[str]:
        """Describe resources added since the snapshot, after giving threads time to end."""
        until, pause = time.monotonic() + THREAD_END_TIMEOUT, 0.01
        while (left := self._leaked()) and time.monotonic() < until:
            gc.collect()  # a file may be garbage that is still open
            time.sleep(pause := 2 * pause)
        return left

    def _leaked(self) -> list[str]:
        now = ResourceSnapshot.now()
        threads = [f"thread {t.name!r}" for t in now.threads - self.threads if t.is_alive()]
        return sorted(threads) + [f"open file {name}" for name in now.files - self.files]


def _open_files() -> Counter[str]:
    found: Counter[str] = Counter()
    if OPEN_FILES.is_dir():
        for entry in OPEN_FILES.iterdir():
            try:
                name = str(entry.readlink())
            except OSError:  # the descriptor opened to list the folder itself
                continue
            # The numbers of sockets and pipes always differ; only their count is compared.
            found[name.partition(":")[0] if ":[" in name else name] += 1
    return found


def tasks() -> list[str]:
    """Describe the tasks of the running event loop, except the current one."""
    current = asyncio.current_task()
    return sorted(_describe(t) for t in asyncio.all_tasks() if t is not current and not t.done())


def _describe(task: asyncio.Task[object]) -> str:
    work = getattr(task.get_coro(), "__qualname__", "")
    return f"task {task.get_name()!r} ({work})"
