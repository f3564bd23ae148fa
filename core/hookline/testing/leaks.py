"""What a piece of work has left behind: threads, open files, tasks."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

OPEN_FILES = Path("/proc/self/fd")
"""Where the system lists this process's open files; there is none on every system."""
GRACE = 5.0
"""Seconds that a thread which has been told to end may take to do so."""


@dataclass(frozen=True, slots=True)
class Belongings:
    """The threads that live and the files that are open, with how often each."""

    threads: frozenset[threading.Thread]
    files: Counter[str]

    @classmethod
    def now(cls) -> Belongings:
        """Those of this process."""
        gc.collect()
        return cls(frozenset(threading.enumerate()), _open_files())

    def left(self) -> list[str]:
        """What is there now and was not then, described; threads have a moment to end."""
        until = time.monotonic() + GRACE
        while (left := self._left()) and time.monotonic() < until:
            time.sleep(0.02)
        return left

    def _left(self) -> list[str]:
        now = Belongings.now()
        threads = [f"thread {t.name!r}" for t in now.threads - self.threads if t.is_alive()]
        return sorted(threads) + [f"open file {name}" for name in now.files - self.files]


def _open_files() -> Counter[str]:
    found: Counter[str] = Counter()
    if OPEN_FILES.is_dir():
        for entry in OPEN_FILES.iterdir():
            try:
                name = str(entry.readlink())
            except OSError:  # the one that listing the folder itself had opened
                continue
            # Numbers of sockets and pipes differ every time; only how many there are counts.
            found[name.partition(":")[0] if ":[" in name else name] += 1
    return found


def tasks() -> list[str]:
    """The tasks of the running event loop beside the current one, described."""
    current = asyncio.current_task()
    return sorted(_told(t) for t in asyncio.all_tasks() if t is not current and not t.done())


def _told(task: asyncio.Task[object]) -> str:
    work = getattr(task.get_coro(), "__qualname__", "")
    return f"task {task.get_name()!r} ({work})"
