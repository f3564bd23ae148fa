"""Background jobs of the chat: a line for each that runs, and one left when it has ended."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hookline_hookspecs import Host
from hookline_hookspecs.file_origins import BackgroundCommands
from hookline_markdown import one_line

from .activity import format_duration

if TYPE_CHECKING:
    from hookline_hookspecs import Session
    from hookline_hookspecs.file_origins import BackgroundCommand

MAX_LINES = 3
POLL_SECONDS = 1.0
MAX_COMMAND_COLUMNS = 40


class JobLines:
    """Follows the background jobs of one session.

    Args:
        host: the plugin's host.
        ended: called with a line for each job that has ended.
    """

    def __init__(self, host: Host, ended: Callable[[str], None]) -> None:
        self._host = host
        self._ended = ended
        self._running: dict[int, BackgroundCommand] = {}

    async def poll(self, session: Session) -> bool:
        """Look which jobs run, and show those that have ended; True if some run."""
        known = [
            job
            for service in self._host.services.all(BackgroundCommands)
            for job in await service.commands(session)
        ]
        running = {job.number: job for job in known if job.is_running}
        for number, job in self._running.items():
            if number not in running:
                self._ended(f"job {number} has ended after {self._age(job)}: {job.command}")
        self._running = running
        return bool(running)

    def lines(self, width: int) -> list[str]:
        """Return a line for each running job, of ``width`` columns."""
        jobs = list(self._running.values())
        shown = [self._line(job, width) for job in jobs[:MAX_LINES]]
        hidden = len(jobs) - len(shown)
        return [*shown, f"  and {hidden} more jobs: /jobs"] if hidden else shown

    def _line(self, job: BackgroundCommand, width: int) -> str:
        command = one_line(job.command, min(MAX_COMMAND_COLUMNS, max(10, width - 20)))
        last = f" · {job.last_line}" if job.last_line else ""
        return one_line(f"⚙ job {job.number}: {command} {self._age(job)}{last}", width - 1)

    def _age(self, job: BackgroundCommand) -> str:
        return format_duration(max(0.0, self._host.now() - job.started), whole=True)
