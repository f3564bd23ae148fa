"""The actions behind the tool ``schedule``, ``/schedule``, ``hookline cron`` and the page.

Each chat sees and changes its own jobs; the terminal sees all.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from hookline_hookspecs import Host, Origin
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.sentences import N_

from . import job_text
from .config import SchedulerConfig
from .errors import ScheduleError
from .job_runner import JobRunner
from .job_store import Job, JobChat, JobRun, JobStore, RunOutcome
from .schedule_parser import OneTimeSchedule, format_time, next_due, parse_schedule
from .time_zones import find_zone, system_zone

MAX_PROMPT_CHARS = 4000


class ScheduleCommands:
    """The actions; each returns a sentence or raises ``ScheduleError``."""

    def __init__(
        self, host: Host, config: SchedulerConfig, jobs: JobStore, runner: JobRunner, workspace: str
    ) -> None:
        self._host = host
        self._config = config
        self._jobs = jobs
        self._runner = runner
        self.terminal = JobChat(TERMINAL, "default", "", workspace)
        """The terminal chat of this process."""

    def channels(self) -> list[str]:
        """Return the names of the network channels, whose chats may have jobs."""
        return sorted({channel.name for channel in self._host.channels() if channel.network})

    async def add(
        self,
        chat: JobChat,
        when: str,
        prompt: str,
        timezone: str = "",
        origins: Sequence[Origin] = (),
    ) -> Job:
        """Create a job of ``chat``.

        ``origins`` are those of its prompt; there are none for a person's own words.
        """
        prompt = prompt.strip()
        if not prompt:
            raise ScheduleError("the prompt is empty; write what to do and all the run must know")
        if len(prompt) > MAX_PROMPT_CHARS:
            raise ScheduleError(
                f"the prompt has {len(prompt)} characters; at most {MAX_PROMPT_CHARS} are allowed"
            )
        zone = find_zone(timezone).key if timezone else self._config.timezone or system_zone()
        now = self._host.now()
        schedule = parse_schedule(when, zone, now)
        limit = self._config.jobs_per_chat
        job = await self._jobs.add(chat, schedule, zone, prompt, now, limit, origins)
        self._runner.wake()
        return job

    def added(self, job: Job) -> str:
        """Return the sentence about a new or resumed job."""
        parts = [N_(f"Job {job.id}"), job_text.in_words(job)]
        if job.due is not None:
            parts.append(N_(f"next {format_time(job.due, job.zone)}"))
        return f"{' · '.join([*parts, job.zone])}\n{self._where(job)}".strip()

    def _where(self, job: Job) -> str:
        if job.chat.channel != TERMINAL:
            return ""
        return N_(
            f"It runs while `hookline chat` or `hookline gateway` is open in {job.chat.workspace}; "
            f"its answer is shown in `hookline chat`."
        )

    async def rows(self, viewer: JobChat) -> list[tuple[Job, JobRun | None]]:
        """Return the jobs that ``viewer`` may see, each with its newest run."""
        await self._runner.recover_dead_runs()
        return await self.stored_rows(viewer)

    @property
    def is_running(self) -> bool:
        """Whether this process runs due jobs."""
        return self._runner.is_running

    async def stored_rows(self, viewer: JobChat) -> list[tuple[Job, JobRun | None]]:
        """Return the same rows, without checking for runs of dead processes."""
        everything = viewer.channel == TERMINAL
        jobs = await (self._jobs.all() if everything else self._jobs.of_chat(viewer))
        last = await self._jobs.last_runs()
        return [(job, last.get(job.id)) for job in jobs]

    async def list(self, viewer: JobChat) -> str:
        """Return the jobs that ``viewer`` may see, one per line."""
        rows = await self.rows(viewer)
        if not rows:
            return N_("No jobs. Add one with /schedule add every 2h | what to do")
        lines = [job_text.line(job, last) for job, last in rows]
        if viewer.channel == TERMINAL:
            pairs = zip(rows, lines, strict=True)
            lines = [f"{text} · {_home(job)}" for (job, _), text in pairs]
        return "\n".join(lines)

    async def find(self, viewer: JobChat, job_id: str) -> Job:
        """Return a job that ``viewer`` may see.

        Raises:
            ScheduleError: there is none, or it belongs to another chat.
        """
        job_id = job_id.strip().lower()
        if not job_id:
            raise ScheduleError("which job? Give its id from the list")
        await self._runner.recover_dead_runs()
        missing = ScheduleError(f"there is no job {job_id[:20]!r} here; the list shows the ids")
        try:
            job = await self._jobs.get(job_id)
        except ScheduleError:
            raise missing from None
        mine = (job.chat.channel, job.chat.chat_id) == (viewer.channel, viewer.chat_id)
        if not mine and viewer.channel != TERMINAL:
            raise missing
        return job

    async def remove(self, viewer: JobChat, job_id: str) -> str:
        """Delete a job."""
        job = await self.find(viewer, job_id)
        await self._jobs.remove(job)
        removed = N_(f"Job {job.id} is removed.")
        running = N_("Its current run ends without sending anything.")
        return f"{removed} {running}" if job.run_id else removed

    async def pause(self, viewer: JobChat, job_id: str) -> str:
        """Pause a job."""
        job = await self.find(viewer, job_id)
        await self._jobs.pause(job)
        return N_(f"Job {job.id} is paused.")

    async def resume(self, viewer: JobChat, job_id: str) -> str:
        """Resume a job."""
        job = await self.find(viewer, job_id)
        if job.state == "on":
            return N_(f"Job {job.id} is not paused.")
        due = next_due(job.schedule, self._host.now(), job.last_due)
        if due is None and isinstance(job.schedule, OneTimeSchedule):
            raise ScheduleError(f"the time of job {job.id} has passed; run it now or add a new one")
        if due is None:
            raise ScheduleError(f"job {job.id} ({job.schedule}) will never be due again")
        await self._jobs.resume(job, due)
        self._runner.wake()
        return self.added(await self._jobs.get(job.id))

    async def run(self, viewer: JobChat, job_id: str) -> str:
        """Request a run now, even if the job is paused."""
        job = await self.find(viewer, job_id)
        if job.run_id:
            raise ScheduleError(f"job {job.id} is already running")
        await self._jobs.request_run(job)
        self._runner.wake()
        if self._runner.is_running:
            return N_(f"Job {job.id} runs now; its answer is sent when it is done.")
        if job.chat.channel == TERMINAL:
            return N_(
                f"Job {job.id} runs as soon as `hookline chat` or `hookline gateway` is open in "
                f"{job.chat.workspace}; `hookline cron run {job.id}` runs it at once."
            )
        return N_(
            f"Job {job.id} runs within 30 s if `hookline gateway` is up, else once it starts."
        )

    async def run_here(self, job: Job) -> RunOutcome | None:
        """Run a job of the terminal in this process; None if another process is running it."""
        return await self._runner.run_here(job.id)

    def job_actions(self) -> dict[str, Callable[[JobChat, str], Awaitable[str]]]:
        """Return the actions on one job, by name."""
        return {"remove": self.remove, "pause": self.pause, "resume": self.resume, "run": self.run}


def _home(job: Job) -> str:
    return f"in {job.chat.workspace}" if job.chat.channel == TERMINAL else job.chat.name
