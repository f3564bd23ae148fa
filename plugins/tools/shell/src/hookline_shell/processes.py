"""Finding and ending every process that a command started, in whatever group it is now."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

from hookline_toolmark import MARK

GRACE = 2.0
"""Seconds between SIGTERM and SIGKILL."""
_STEP = 0.02
_PROC = Path("/proc")
_SANDBOXES = frozenset({"", "bwrap", "bwrap-net"})
"""Names of the sandbox's own processes: bubblewrap, and the way to its proxy."""


def members(pid: int, mark: str) -> list[int]:
    """Ids of the living processes of the command that was started as ``pid``.

    Those of its session and, where ``/proc`` tells, those that carry its mark. Elsewhere the
    answer is ``pid`` alone while its group lives.
    """
    if not (_PROC / "self" / "stat").exists():
        return [pid] if _group_lives(pid) else []
    return [found for found in _living() if _belongs(found, pid, mark)]


def workers(pid: int, mark: str) -> list[int]:
    """The same without the sandbox's own processes, which outlive the last by a moment."""
    found = members(pid, mark)
    if not (_PROC / "self" / "stat").exists():
        return found
    return [process for process in found if _name(process) not in _SANDBOXES]


def _name(process: int) -> str:
    try:
        return (_PROC / str(process) / "comm").read_text("utf-8", "replace").strip()
    except OSError:
        return ""


def _living() -> Iterator[int]:
    for entry in _PROC.iterdir():
        if entry.name.isdigit():
            yield int(entry.name)


def _belongs(process: int, pid: int, mark: str) -> bool:
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


def _group_lives(pid: int) -> bool:
    try:
        os.killpg(pid, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


async def end(pid: int, mark: str) -> None:
    """End the command's processes: SIGTERM, up to :data:`GRACE` seconds, SIGKILL.

    Goes on even if the task that waits for it is cancelled.
    """
    await asyncio.shield(_end(pid, mark))


async def _end(pid: int, mark: str) -> None:
    _signal(pid, mark, signal.SIGTERM)
    waited = 0.0
    while waited < GRACE and members(pid, mark):
        await asyncio.sleep(_STEP)
        waited += _STEP
    # A process may start another between being listed and being killed.
    for _ in range(10):
        if not members(pid, mark):
            return
        _signal(pid, mark, signal.SIGKILL)
        await asyncio.sleep(_STEP)


def _signal(pid: int, mark: str, number: signal.Signals) -> None:
    found = members(pid, mark)
    if found:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, number)
    for process in found:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(process, number)
