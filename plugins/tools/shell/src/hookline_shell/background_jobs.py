"""Background jobs: processes that commands left running, by session."""

from __future__ import annotations

import asyncio
import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hookline_hookspecs.file_origins import BackgroundCommand
from hookline_hookspecs.visible_text import on_one_line

from .command_runner import RunningJob

if TYPE_CHECKING:
    from hookline_hookspecs import Session

MAX_ENDED_JOBS = 10
"""Ended jobs of a session whose output is kept."""
_MAX_SHOWN_CHARS = 80
_KILL = re.compile(r"kill(?:\s+(?:-[A-Za-z]+|-\d{1,2}|-s\s+\w+))?(?:\s+--)?\s+-?(\d{2,})")


@dataclass(eq=False, slots=True)
class BackgroundJob:
    """Processes that a command left running.

    ``session`` is that of the command, maybe a sub-agent's; ``number`` counts the chat's jobs from
    1; ``pid`` is the process group as commands see it;
    ``started`` is a Unix time. ``in_sandbox``: later commands can see and end it.
    """

    session: str
    number: int
    command: str
    started: float
    running: RunningJob
    in_sandbox: bool
    is_running: bool = True

    @property
    def pid(self) -> int:
        """The process group as commands see it."""
        return self.running.command.pid

    @property
    def shown(self) -> str:
        """The command as one short line."""
        return on_one_line(self.command, _MAX_SHOWN_CHARS)

    def described(self) -> BackgroundCommand:
        """Return what others may know about it."""
        lines = self.running.output.strip().rsplit("\n", 1)
        last_line = on_one_line(lines[-1], _MAX_SHOWN_CHARS)
        return BackgroundCommand(self.number, self.shown, self.started, self.is_running, last_line)

    def __str__(self) -> str:
        return f"{self.pid} ({self.shown})"


class BackgroundJobs:
    """The background jobs, by chat: a session with its sub-agents."""

    def __init__(self) -> None:
        self._jobs: dict[str, list[BackgroundJob]] = {}
        self._numbers: dict[str, itertools.count[int]] = {}

    def add(
        self, session: Session, command: str, running: RunningJob, now: float, *, in_sandbox: bool
    ) -> None:
        """Add a job of the session. ``now`` is the Unix time."""
        chat = session.parent_id or session.id
        number = next(self._numbers.setdefault(chat, itertools.count(1)))
        job = BackgroundJob(session.id, number, command, now, running, in_sandbox)
        self._jobs.setdefault(chat, []).append(job)

    async def of_chat(self, session: Session) -> list[BackgroundJob]:
        """The jobs of a session and its sub-agents: the running ones, and those that ended last."""
        jobs = self._jobs.get(session.parent_id or session.id, [])
        for job in list(jobs):
            if job.is_running and not await job.running.is_running():
                job.is_running = False
                job.running.close()
        ended = [job for job in jobs if not job.is_running]
        for job in ended[:-MAX_ENDED_JOBS]:
            jobs.remove(job)
        return list(jobs)

    async def running(self, session: Session) -> list[BackgroundJob]:
        """The running jobs of this session alone."""
        jobs = await self.of_chat(session)
        return [job for job in jobs if job.is_running and job.session == session.id]

    async def job_to_kill(self, session: Session, command: str) -> BackgroundJob | None:
        """The running job outside of a sandbox that ``command`` kills, if it does only that."""
        kill = _KILL.fullmatch(command.strip())
        jobs = await self.running(session) if kill else []
        named = (job for job in jobs if kill and job.pid == int(kill[1]) and not job.in_sandbox)
        return next(named, None)

    async def end(self, job: BackgroundJob) -> None:
        """End one job; its output is kept."""
        job.is_running = False
        await job.running.end()

    async def end_session(self, session: Session) -> None:
        """End and forget the jobs of a session."""
        jobs = self._jobs.get(session.parent_id or session.id, [])
        own = [job for job in jobs if job.session == session.id]
        jobs[:] = [job for job in jobs if job not in own]
        await _end(own)

    async def end_all(self) -> None:
        """End every job of every session."""
        jobs = [job for chat in self._jobs.values() for job in chat]
        self._jobs.clear()
        await _end(jobs)


async def _end(jobs: list[BackgroundJob]) -> None:
    await asyncio.gather(*(job.running.end() for job in jobs if job.is_running))
