"""Background jobs: what commands left running, by session."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass

from . import processes

_SHOWN = 80
_KILL = re.compile(r"kill(?:\s+(?:-[A-Za-z]+|-\d{1,2}|-s\s+\w+))?(?:\s+--)?\s+-?(\d{2,})")


@dataclass(frozen=True, slots=True)
class Background:
    """Processes that a command left running; ``pid`` is their group and their handle."""

    pid: int
    mark: str
    command: str

    def alive(self) -> bool:
        """True while any of its processes runs."""
        return bool(processes.workers(self.pid, self.mark))

    def __str__(self) -> str:
        line = " ".join(self.command.split())
        return f"{self.pid} ({line if len(line) <= _SHOWN else line[: _SHOWN - 1] + '…'})"


class Jobs:
    """The background jobs of every session."""

    def __init__(self) -> None:
        self._jobs: dict[str, list[Background]] = {}

    def add(self, session: str, job: Background) -> None:
        """Remember a job."""
        self._jobs.setdefault(session, []).append(job)

    def living(self, session: str) -> list[Background]:
        """The session's jobs that still run; ended ones are forgotten."""
        kept = [job for job in self._jobs.get(session, []) if job.alive()]
        self._jobs[session] = kept
        return kept

    def meant(self, session: str, command: str) -> Background | None:
        """The living job that ``command`` wants to end, if it is nothing but a ``kill`` of one."""
        wanted = _KILL.fullmatch(command.strip())
        jobs = self.living(session) if wanted else []
        return next((job for job in jobs if wanted and job.pid == int(wanted[1])), None)

    async def end(self, session: str, job: Background) -> None:
        """End one job."""
        self._jobs[session].remove(job)
        await processes.end(job.pid, job.mark)

    async def end_all(self) -> None:
        """End every job of every session."""
        jobs = [job for found in self._jobs.values() for job in found]
        self._jobs.clear()
        await asyncio.gather(*(processes.end(job.pid, job.mark) for job in jobs))
