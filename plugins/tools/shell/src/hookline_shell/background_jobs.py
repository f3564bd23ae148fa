"""Background jobs: processes that commands left running, by session."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass

from . import processes

_MAX_SHOWN_CHARS = 80
_KILL = re.compile(r"kill(?:\s+(?:-[A-Za-z]+|-\d{1,2}|-s\s+\w+))?(?:\s+--)?\s+-?(\d{2,})")


@dataclass(frozen=True, slots=True)
class BackgroundJob:
    """Processes that a command left running; ``pid`` is their process group."""

    pid: int
    mark: str
    command: str

    def alive(self) -> bool:
        """Whether any of its processes is running."""
        return bool(processes.running_workers(self.pid, self.mark))

    def __str__(self) -> str:
        line = " ".join(self.command.split())
        if len(line) > _MAX_SHOWN_CHARS:
            line = line[: _MAX_SHOWN_CHARS - 1] + "…"
        return f"{self.pid} ({line})"


class BackgroundJobs:
    """The background jobs of every session."""

    def __init__(self) -> None:
        self._jobs: dict[str, list[BackgroundJob]] = {}

    def add(self, session: str, job: BackgroundJob) -> None:
        """Add a job to the session."""
        self._jobs.setdefault(session, []).append(job)

    def running(self, session: str) -> list[BackgroundJob]:
        """The session's running jobs; ended ones are removed."""
        alive = [job for job in self._jobs.get(session, []) if job.alive()]
        self._jobs[session] = alive
        return alive

    def job_to_kill(self, session: str, command: str) -> BackgroundJob | None:
        """The running job that ``command`` kills, if it consists only of a ``kill`` of one."""
        kill = _KILL.fullmatch(command.strip())
        jobs = self.running(session) if kill else []
        return next((job for job in jobs if kill and job.pid == int(kill[1])), None)

    async def end(self, session: str, job: BackgroundJob) -> None:
        """End one job."""
        self._jobs[session].remove(job)
        await processes.end_processes(job.pid, job.mark)

    async def end_all(self) -> None:
        """End every job of every session."""
        jobs = [job for session_jobs in self._jobs.values() for job in session_jobs]
        self._jobs.clear()
        await asyncio.gather(*(processes.end_processes(job.pid, job.mark) for job in jobs))
