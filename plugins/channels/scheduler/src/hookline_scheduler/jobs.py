"""Stores jobs and their runs in the plugin's own tables.

Each change that only one process may make is a single conditional statement.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hookline_hookspecs import Origin, Storage, Transaction
from hookline_hookspecs.stored_origins import kept, stored
from hookline_hookspecs.stored_origins import read as read_origins

from .complaint import Complaint
from .when import Cron, Every, Once, Schedule, next_due

LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
"""Characters of ids, which people type: no look-alikes."""
KEPT_RUNS = 20
"""Runs kept of each job, with their sessions."""


@dataclass(frozen=True, slots=True)
class Chat:
    """Where a job belongs, and who made it. ``workspace`` is set only for the terminal."""

    channel: str
    chat_id: str
    user_id: str = ""
    workspace: str = ""

    @property
    def name(self) -> str:
        """As it is written in config: ``telegram:17``."""
        return f"{self.channel}:{self.chat_id}"


@dataclass(frozen=True, slots=True)
class Job:
    """A prompt and when it is run; see the table. ``origins`` are those of its prompt."""

    id: str
    chat: Chat
    schedule: Schedule
    zone: str
    prompt: str
    state: str
    due: float | None
    last_due: float | None
    asked: bool
    run_id: str
    told: bool
    created: float
    origins: tuple[Origin, ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a job; see the table."""

    id: str
    job_id: str
    chat: Chat
    process: str
    state: str
    due: float
    asked: bool
    started: float
    ended: float | None
    outcome: str
    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended. ``outcome`` is ``ok``, ``silent``, ``failed`` or ``interrupted``; ``text``
    what is shown in the chat, ``pauses`` whether the job waits until a person resumes it."""

    outcome: str
    text: str = ""
    reason: str = ""
    pauses: bool = False

    @property
    def good(self) -> bool:
        """Whether the run succeeded."""
        return self.outcome in ("ok", "silent")


class Jobs:
    """The tables."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    # Jobs

    async def add(
        self,
        chat: Chat,
        schedule: Schedule,
        zone: str,
        prompt: str,
        now: float,
        most: int,
        origins: Sequence[Origin] = (),
        *,
        paused_as: str = "",
    ) -> Job:
        """Store a new job, or one of a chosen id that is paused. Raises ``Complaint`` if the chat
        has ``most`` already, or the id is taken."""
        row = {**_place(chat), "workspace": chat.workspace, **_columns(schedule)}
        row |= {"zone": zone, "prompt": prompt, "created": now}
        row |= {"state": "paused" if paused_as else "on"}
        row |= {"due": None if paused_as else schedule.after(now)}
        row["origins"] = stored(kept(origins))
        for _attempt in range(20):
            job_id = paused_as or "".join(secrets.choice(LETTERS) for _ in range(5))
            if await self._storage.execute("add_job", id=job_id, most=most, **row):
                return await self.get(job_id)
            if len(await self.of(chat)) >= most:
                raise Complaint(
                    f"this chat has {most} jobs, as many as it may; remove one first, or raise "
                    f"jobs_per_chat under plugins: scheduler: in config.yaml"
                )
        raise Complaint("no free id was found; try again")

    async def get(self, job_id: str) -> Job:
        """The job. Raises ``Complaint`` if there is none."""
        rows = await self._storage.fetch("job", id=job_id)
        if not rows:
            raise Complaint(f"there is no job {job_id}")
        return _job(rows[0])

    async def all(self) -> list[Job]:
        """Every job, oldest first."""
        return [_job(row) for row in await self._storage.fetch("jobs")]

    async def of(self, chat: Chat) -> list[Job]:
        """The jobs of a chat, oldest first."""
        where = {"channel": chat.channel, "chat_id": chat.chat_id}
        return [_job(row) for row in await self._storage.fetch("chat_jobs", **where)]

    async def due(self, now: float) -> list[Job]:
        """Return the jobs that are due now, the longest due first."""
        return [_job(row) for row in await self._storage.fetch("due_jobs", now=now)]

    async def next_due(self, now: float) -> float | None:
        """When the next job after ``now`` is due."""
        due: float | None = (await self._storage.fetch("next_due", now=now))[0]["due"]
        return due

    async def remove(self, job: Job) -> None:
        """Forget a job."""
        await self._storage.execute("remove_job", id=job.id)

    async def pause(self, job: Job) -> None:
        """Pause a job: it is not due until it is resumed."""
        await self._storage.execute("pause_job", id=job.id)

    async def resume(self, job: Job, due: float) -> None:
        """Resume a job, which is next due at ``due`` (Unix seconds)."""
        await self._storage.execute("resume_job", id=job.id, due=due)

    async def ask(self, job: Job) -> None:
        """Record that a person requested a run now."""
        await self._storage.execute("ask_for_job", id=job.id)

    async def pull_in(self, clock: Callable[[], float]) -> None:
        """Move due times back after the clock was set back."""
        for job in await self.all():
            if job.state == "on" and job.due is not None and not isinstance(job.schedule, Once):
                due = next_due(job.schedule, clock(), job.last_due)
                if due is not None and due < job.due:
                    await self._storage.execute("pull_in", id=job.id, due=due, was=job.due)

    # Runs

    async def claim(self, job: Job, process: str, now: float) -> Run | None:
        """Claim a run of a job that is due or requested; None if another process has it."""
        run_id = secrets.token_hex(8)
        due = now if job.asked or job.due is None else job.due
        row = {"id": run_id, "job_id": job.id, "process": process, "asked": int(job.asked)}
        row |= {**_place(job.chat), "due": due, "now": now}

        def work(tables: Transaction) -> int:
            if job.asked:
                mine = tables.execute("claim_asked", id=job.id, run=run_id)
            else:
                following = job.schedule.after(max(now, due))
                moved = {"was": job.due, "due": following}
                mine = tables.execute("claim_due", id=job.id, run=run_id, **moved)
            return tables.execute("add_run", **row) if mine else 0

        return await self.run(run_id) if await self._storage.transact(work) else None

    async def run(self, run_id: str) -> Run | None:
        """The run, if there is one."""
        rows = await self._storage.fetch("run", id=run_id)
        return _run(rows[0]) if rows else None

    async def begin(self, run: Run, process: str, now: float) -> bool:
        """Mark a claimed run as under way; return whether this process may run it."""
        row = {"id": run.id, "process": process, "now": now}
        return await self._storage.execute("begin_run", **row) > 0

    async def release(self, run: Run) -> None:
        """Return a claimed run that was not started: its job is due again."""

        def work(tables: Transaction) -> None:
            if tables.execute("drop_run", id=run.id):
                again = {"run": run.id, "asked": int(run.asked), "due": run.due}
                tables.execute("release_job", id=run.job_id, **again)

        await self._storage.transact(work)

    async def end(self, run: Run, ending: Ending, now: float) -> bool:
        """Store how a run ended and update its job. A failure is reported unless the previous one
        was. Return False if the run had ended before."""

        def work(tables: Transaction) -> bool:
            rows = tables.fetch("job", id=run.job_id)
            text = _heard(_job(rows[0]), ending) if rows else ""
            row = {"id": run.id, "now": now, "outcome": ending.outcome, "reason": ending.reason}
            if not tables.execute("end_run", **row, text=text):
                return False
            if rows:
                _settle(tables, _job(rows[0]), run, ending, now)
            return True

        return await self._storage.transact(work)

    async def old_runs(self, job_id: str) -> list[Run]:
        """Delivered runs of a job that are not among its newest :data:`KEPT_RUNS`."""
        found = await self._storage.fetch("old_runs", job_id=job_id, most=KEPT_RUNS)
        return [_run(row) for row in found]

    async def forget(self, run: Run) -> None:
        """Delete a run."""
        await self._storage.execute("forget_run", id=run.id)

    async def open_runs(self) -> list[Run]:
        """Runs that are claimed or under way."""
        return [_run(row) for row in await self._storage.fetch("open_runs")]

    async def last_runs(self) -> dict[str, Run]:
        """The newest ended run of each job."""
        runs = [_run(row) for row in await self._storage.fetch("last_runs")]
        return {run.job_id: run for run in runs}

    async def waiting(self) -> list[Run]:
        """Return runs whose text was not delivered, oldest first."""
        return [_run(row) for row in await self._storage.fetch("waiting_results")]

    async def hand_over(self, run: Run) -> None:
        """Mark the run's text as handed over to core, which stores it durably."""
        await self._storage.execute("hand_over", id=run.id)


def _heard(job: Job, ending: Ending) -> str:
    """Return what is shown in the chat; a job that keeps failing is reported once."""
    return "" if not ending.good and job.told else ending.text


def _settle(tables: Transaction, job: Job, run: Run, ending: Ending, now: float) -> None:
    """Update a job after its run ended. Times that came due meanwhile are skipped."""
    if isinstance(job.schedule, Once) and job.due is None and ending.good:
        tables.execute("remove_job", id=job.id)
        return
    due, state = job.due, job.state
    if due is not None and due <= now:
        due = job.schedule.after(now)
    if ending.pauses or due is None:
        due, state = None, "paused"
    told = {"told": int(not ending.good)}
    tables.execute("end_job", id=job.id, run=run.id, due=due, state=state, **told)


def _place(chat: Chat) -> dict[str, str]:
    return {"channel": chat.channel, "chat_id": chat.chat_id, "user_id": chat.user_id}


def _columns(schedule: Schedule) -> dict[str, Any]:
    match schedule:
        case Cron(expression, _):
            return {"kind": "cron", "expression": expression, "anchor": 0.0}
        case Every(seconds, anchor):
            return {"kind": "every", "expression": str(seconds), "anchor": anchor}
        case Once(at):
            return {"kind": "once", "expression": "", "anchor": at}


def _schedule(row: Mapping[str, Any]) -> Schedule:
    if row["kind"] == "cron":
        return Cron(row["expression"], row["zone"])
    if row["kind"] == "every":
        return Every(int(row["expression"]), row["anchor"])
    return Once(row["anchor"])


def _job(row: Mapping[str, Any]) -> Job:
    return Job(
        row["id"],
        Chat(row["channel"], row["chat_id"], row["user_id"], row["workspace"]),
        _schedule(row),
        row["zone"],
        row["prompt"],
        row["state"],
        row["due"],
        row["last_due"],
        bool(row["asked"]),
        row["run_id"],
        bool(row["told"]),
        row["created"],
        read_origins(row["origins"]),
    )


def _run(row: Mapping[str, Any]) -> Run:
    names = ("started", "ended", "outcome", "reason", "text")
    return Run(
        row["id"],
        row["job_id"],
        Chat(row["channel"], row["chat_id"], row["user_id"]),
        row["process"],
        row["state"],
        row["due"],
        bool(row["asked"]),
        *[row[name] for name in names],
    )
