"""Finds and ends every process that a command started, whatever its process group."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

from hookline_toolmark import MARK

TERM_TIMEOUT = 2.0
"""Seconds between SIGTERM and SIGKILL."""
_POLL_INTERVAL = 0.02
_PROC = Path("/proc")


def running_processes(pid: int, mark: str) -> list[int]:
    """Ids of the running processes of the command that was started as ``pid``.

    With ``/proc``, those of its session and those with its mark in their environment. Without,
    only ``pid``, as long as its group exists.
    """
    if not (_PROC / "self" / "stat").exists():
        return [pid] if _group_exists(pid) else []
    return [found for found in _process_ids() if _belongs_to(found, pid, mark)]


def _process_ids() -> Iterator[int]:
    for entry in _PROC.iterdir():
        if entry.name.isdigit():
            yield int(entry.name)


def _belongs_to(process: int, pid: int, mark: str) -> bool:
    try:
        stat = (_PROC / str(process) / "stat").read_text("utf-8", "replace")
        state, _, group, session = stat.rpartition(")")[2].split()[:4]
        if state in "ZX":
            return False
        if pid in (int(group), int(session)):
            return True
        environ = (_PROC / str(process) / "environ").read_bytes()
    except (OSError, ValueError):
        return False
    return f"{MARK}={mark}".encode() in environ.split(b"\0")


def _group_exists(pid: int) -> bool:
    try:
        os.killpg(pid, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


async def end_processes(pid: int, mark: str) -> None:
    """End the command's processes: SIGTERM, up to :data:`TERM_TIMEOUT` seconds, SIGKILL.

    It is completed even if the calling task is cancelled.
    """
    await asyncio.shield(_end(pid, mark))


async def _end(pid: int, mark: str) -> None:
    _signal(pid, mark, signal.SIGTERM)
    waited = 0.0
    while waited < TERM_TIMEOUT and running_processes(pid, mark):
        await asyncio.sleep(_POLL_INTERVAL)
        waited += _POLL_INTERVAL
    # A process may start another between being listed and being killed.
    for _ in range(10):
        if not running_processes(pid, mark):
            return
        _signal(pid, mark, signal.SIGKILL)
        await asyncio.sleep(_POLL_INTERVAL)


def _signal(pid: int, mark: str, number: signal.Signals) -> None:
    found = running_processes(pid, mark)
    if found:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, number)
    for process in found:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process, number)
