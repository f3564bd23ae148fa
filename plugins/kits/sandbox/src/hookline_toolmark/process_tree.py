"""Reads processes and their ancestors from Linux's ``/proc``, or elsewhere from ``ps``."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from . import LIMIT, MARK

PROC = Path("/proc")
_MQ = re.compile(rb"^Max msgqueue size +\S+ +(\d+)", re.MULTILINE)
_UID = re.compile(rb"^Uid:\s+(\d+)", re.MULTILINE)
_COLUMNS = "pid=,ppid=,uid=,tty=,etime=,command="
_PS_TIMEOUT = 5
_RUNTIME = re.compile(
    r"(?:(?:^|/)|-m )hookline(?: --home[= ]\S+)*(?: (?:run|chat|gateway|web|worker|acp|mcp)\b|$)"
)
"""Matches command lines that run turns, as ``ps`` shows them."""


@dataclass(frozen=True, slots=True)
class Process:
    """A living process.

    ``started`` is its start time, in a unit of the system. ``place`` is its control group and
    ``session`` the id of its session's first process, if the system shows them. ``is_tool``: a tool
    started it, or it runs Hookline's turns itself.
    """

    pid: int
    parent: int
    user: int
    name: str
    has_terminal: bool
    session: int
    started: float
    place: str
    is_tool: bool


Find = Callable[[int], Process | None]


def from_proc(pid: int) -> Process | None:
    """Return the process as ``/proc`` shows it; None if it is gone or hidden."""
    folder = PROC / str(pid)
    stat = _read(folder / "stat").decode("utf-8", "replace")
    name, _, after = stat.partition("(")[2].rpartition(")")
    fields = after.split()
    if not fields or fields[0] in "ZX":
        return None
    user = _UID.search(_read(folder / "status"))
    return Process(
        pid=pid,
        parent=int(fields[1]),
        user=int(user[1]) if user else -1,
        name=name,
        has_terminal=fields[4] != "0",
        session=int(fields[3]),
        started=float(fields[19]),
        place=_read(folder / "cgroup").decode("utf-8", "replace"),
        is_tool=_is_lowered(folder) or _is_marked(folder),
    )


def _read(file: Path) -> bytes:
    """Return the content; empty if the file cannot be read."""
    try:
        return file.read_bytes()
    except OSError:
        return b""


def _is_lowered(folder: Path) -> bool:
    limit = _MQ.search(_read(folder / "limits"))
    return limit is not None and int(limit[1]) <= LIMIT


def _is_marked(folder: Path) -> bool:
    # A runtime's own environment cannot be read; its limit marks it.
    entries = _read(folder / "environ").split(b"\0")
    return any(one.startswith(f"{MARK}=".encode()) for one in entries)


def from_ps() -> dict[int, Process]:
    """Return every living process as ``ps`` shows it, by id; empty if there is no ``ps``."""
    try:
        done = subprocess.run(
            ["/bin/ps", "-axww", "-o", _COLUMNS],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PS_TIMEOUT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    rows = (line.split(None, 5) for line in done.stdout.splitlines())
    found = (_from_row(row) for row in rows if len(row) == 6)
    return {process.pid: process for process in found}


def _from_row(row: list[str]) -> Process:
    pid, parent, user, tty, age, command = row
    return Process(
        pid=int(pid),
        parent=int(parent),
        user=int(user),
        name=Path(command.split(" ", 1)[0]).name,
        has_terminal=tty not in ("?", "??", "-"),
        session=0,
        started=-_seconds(age),
        place="",
        is_tool=_RUNTIME.search(command.strip()) is not None,
    )


def _seconds(age: str) -> float:
    """Return ``[[days-]hours:]minutes:seconds`` as seconds."""
    days, _, clock = age.rpartition("-")
    total = 0
    for part in clock.split(":"):
        total = total * 60 + int(part)
    return total + 86_400 * int(days or 0)


def ancestors(process: Process, find: Find) -> list[Process]:
    """Return the parent, its parent and so on, as far as they are visible."""
    found: list[Process] = []
    seen = {process.pid}
    while (parent := find(process.parent)) is not None and parent.pid not in seen:
        found.append(parent)
        seen.add(parent.pid)
        process = parent
    return found
