"""What people and the model can do with jobs: the tool, ``/schedule`` and ``hookline cron``.

Each chat sees and changes its own jobs; the terminal sees all.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from hookline_hookspecs import Host, Origin
from hookline_hookspecs.channels import TERMINAL

from . import wording
from .complaint import Complaint
from .config import SchedulerConfig
from .jobs import Chat, Ending, Job, Jobs, Run
from .service import Service
from .when import Once, next_due, read, shown
from .zones import find_zone, system_zone

LONGEST_PROMPT = 4000


class Desk:
    """The actions; each returns a sentence or raises ``Complaint``."""

    def __init__(
        self, host: Host, config: SchedulerConfig, jobs: Jobs, service: Service, workspace: str
    ) -> None:
        self._host = host
        self._config = config
        self._jobs = jobs
        self._service = service
        self.terminal = Chat(TERMINAL, "default", "", workspace)
        """Return the terminal chat of this process."""

    def channels(self) -> list[str]:
        """The names of the network channels whose chats may have jobs."""
        return sorted({one.name for one in self._host.channels() if one.network})

    async def add(
        self, chat: Chat, when: str, prompt: str, timezone: str = "", origins: Sequence[Origin] = ()
    ) -> Job:
        """Create a job of ``chat``; ``origins`` are those of its prompt, none for a person's own
        words."""
        prompt = prompt.strip()
        if not prompt:
            raise Complaint("what shall be done? Write a prompt that holds all it must know")
        if len(prompt) > LONGEST_PROMPT:
            raise Complaint(f"the prompt has {len(prompt)} of at most {LONGEST_PROMPT} characters")
        zone = find_zone(timezone).key if timezone else self._config.timezone or system_zone()
        now = self._host.now()
        schedule = read(when, zone, now)
        most = self._config.jobs_per_chat
        job = await self._jobs.add(chat, schedule, zone, prompt, now, most, origins)
        self._service.wake()
        return job

    def added(self, job: Job) -> str:
        """Return the sentence about a new or resumed job."""
        due = shown(job.due, job.zone) if job.due is not None else "never"
        text = f"Job {job.id}: {wording.described(job)}, next {due} ({job.zone})."
        return f"{text} {self._where(job)}".strip()

    def _where(self, job: Job) -> str:
        if job.chat.channel != TERMINAL:
            return ""
        return (
            f"It runs while `hookline chat` or `hookline gateway` is open in {job.chat.workspace}; "
            f"what it says is shown in `hookline chat`."
        )

    async def rows(self, viewer: Chat) -> list[tuple[Job, Run | None]]:
        """Return the jobs that ``viewer`` may see, each with its newest run."""
        await self._service.settle_the_dead()
        return await self.known(viewer)

    @property
    def lives(self) -> bool:
        """Whether due jobs are looked for in this process."""
        return self._service.lives

    async def known(self, viewer: Chat) -> list[tuple[Job, Run | None]]:
        """Return the same as it is stored, without looking for runs whose process has died."""
        everything = viewer.channel == TERMINAL
        jobs = await (self._jobs.all() if everything else self._jobs.of(viewer))
        last = await self._jobs.last_runs()
        return [(job, last.get(job.id)) for job in jobs]

    async def list(self, viewer: Chat) -> str:
        """Return the jobs that ``viewer`` may see, one per line."""
        rows = await self.rows(viewer)
        if not rows:
            return "No jobs. Add one with /schedule add every 2h | what to do"
        lines = [wording.line(job, last) for job, last in rows]
        if viewer.channel == TERMINAL:
            pairs = zip(rows, lines, strict=True)
            lines = [f"{text} · {_home(job)}" for (job, _), text in pairs]
        return "\n".join(lines)

    async def find(self, viewer: Chat, job_id: str) -> Job:
        """Return a job that ``viewer`` may see. Raises ``Complaint`` if there is none, or it is
        another chat's."""
        job_id = job_id.strip().lower()
        if not job_id:
            raise Complaint("which job? Give its id, as the list shows it")
        await self._service.settle_the_dead()
        missing = Complaint(f"there is no job {job_id[:20]!r} here; the list shows the ids")
        try:
            job = await self._jobs.get(job_id)
        except Complaint:
            raise missing from None
        mine = (job.chat.channel, job.chat.chat_id) == (viewer.channel, viewer.chat_id)
        if not mine and viewer.channel != TERMINAL:
            raise missing
        return job

    async def remove(self, viewer: Chat, job_id: str) -> str:
        """Forget a job."""
        job = await self.find(viewer, job_id)
        await self._jobs.remove(job)
        under_way = " Its run under way ends by itself; nothing is sent." if job.run_id else ""
        return f"Job {job.id} is removed.{under_way}"

    async def pause(self, viewer: Chat, job_id: str) -> str:
        """Pause a job."""
        job = await self.find(viewer, job_id)
        await self._jobs.pause(job)
        return f"Job {job.id} is paused."

    async def resume(self, viewer: Chat, job_id: str) -> str:
        """Resume a job."""
        job = await self.find(viewer, job_id)
        if job.state == "on":
            return f"Job {job.id} is not paused."
        due = next_due(job.schedule, self._host.now(), job.last_due)
        if due is None and isinstance(job.schedule, Once):
            raise Complaint(f"the time of job {job.id} is over; run it now, or add a new one")
        if due is None:
            raise Complaint(f"job {job.id} ({job.schedule}) never comes again")
        await self._jobs.resume(job, due)
        self._service.wake()
        return self.added(await self._jobs.get(job.id))

    async def run(self, viewer: Chat, job_id: str) -> str:
        """Request a run now, even if the job is paused."""
        job = await self.find(viewer, job_id)
        if job.run_id:
            raise Complaint(f"job {job.id} is running; it never runs twice at a time")
        await self._jobs.ask(job)
        self._service.wake()
        if self._service.lives:
            return f"Job {job.id} runs now; its result comes by itself."
        if job.chat.channel == TERMINAL:
            return (
                f"Job {job.id} runs as soon as `hookline chat` or `hookline gateway` is open in "
                f"{job.chat.workspace}; `hookline cron run {job.id}` runs it at once."
            )
        return f"Job {job.id} runs as soon as `hookline gateway` looks, within 30 s if it is up."

    async def run_here(self, job: Job) -> Ending | None:
        """Run a job of the terminal in this process; None if another process runs it already."""
        return await self._service.run_here(job.id)

    def by_name(self) -> dict[str, Callable[[Chat, str], Awaitable[str]]]:
        """The actions on one job."""
        return {"remove": self.remove, "pause": self.pause, "resume": self.resume, "run": self.run}


def _home(job: Job) -> str:
    return f"in {job.chat.workspace}" if job.chat.channel == TERMINAL else job.chat.name
