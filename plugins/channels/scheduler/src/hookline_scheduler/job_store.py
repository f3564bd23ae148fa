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

from .errors import ScheduleError
from .schedule_parser import CronSchedule, IntervalSchedule, OneTimeSchedule, Schedule, next_due

LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
"""Characters of ids. People type them, so there are no look-alikes."""
MAX_STORED_RUNS = 20
"""Runs of each job, with their sessions."""


@dataclass(frozen=True, slots=True)
class JobChat:
    """The chat of a job, and who made it. ``workspace`` is set only for the terminal."""

    channel: str
    chat_id: str
    user_id: str = ""
    workspace: str = ""

    @property
    def name(self) -> str:
        """The name in config, such as ``telegram:17``."""
        return f"{self.channel}:{self.chat_id}"


@dataclass(frozen=True, slots=True)
class Job:
    """A prompt and its schedule, as in the table.

    Attributes:
        due: when it runs next, in Unix seconds; None if it does not.
        last_due: when the last run was due.
        requested: a person has asked for a run now.
        run_id: the current run; empty for none.
        failure_reported: its last run failed, and the chat knows.
        origins: the origins of its prompt.
    """

    id: str
    chat: JobChat
    schedule: Schedule
    zone: str
    prompt: str
    state: str
    due: float | None
    last_due: float | None
    requested: bool
    run_id: str
    failure_reported: bool
    created: float
    origins: tuple[Origin, ...] = ()


@dataclass(frozen=True, slots=True)
class JobRun:
    """One run of a job, as in the table; ``requested`` if a person asked for it."""

    id: str
    job_id: str
    chat: JobChat
    process: str
    state: str
    due: float
    requested: bool
    started: float
    ended: float | None
    outcome: str
    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """How a run ended.

    Attributes:
        status: ``ok``, ``silent``, ``failed`` or ``interrupted``.
        text: what is shown in the chat.
        reason: why it failed.
        pauses: whether the job is paused.
    """

    status: str
    text: str = ""
    reason: str = ""
    pauses: bool = False

    @property
    def is_success(self) -> bool:
        """Whether the run succeeded."""
        return self.status in ("ok", "silent")


class JobStore:
    """Reads and writes the tables of jobs and runs."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    # Jobs

    async def add(
        self,
        chat: JobChat,
        schedule: Schedule,
        zone: str,
        prompt: str,
        now: float,
        limit: int,
        origins: Sequence[Origin] = (),
        *,
        paused_as: str = "",
    ) -> Job:
        """Store a new job; ``paused_as`` is the id of one that is paused.

        Raises:
            ScheduleError: the chat has ``limit`` jobs already, or the id is taken.
        """
        row = {**_chat_columns(chat), "workspace": chat.workspace, **_schedule_columns(schedule)}
        row |= {"zone": zone, "prompt": prompt, "created": now}
        row |= {"state": "paused" if paused_as else "on"}
        row |= {"due": None if paused_as else schedule.after(now)}
        row["origins"] = stored(kept(origins))
        for _attempt in range(20):
            job_id = paused_as or "".join(secrets.choice(LETTERS) for _ in range(5))
            if await self._storage.execute("add_job", id=job_id, most=limit, **row):
                return await self.get(job_id)
            if len(await self.of_chat(chat)) >= limit:
                raise ScheduleError(
                    f"this chat already has {limit} jobs, the limit; remove one, or raise "
                    f"jobs_per_chat under plugins: scheduler: in config.yaml"
                )
        raise ScheduleError("no free id was found; try again")

    async def get(self, job_id: str) -> Job:
        """Return a job. Raises ``ScheduleError`` if there is none."""
        rows = await self._storage.fetch("job", id=job_id)
        if not rows:
            raise ScheduleError(f"unknown job {job_id}")
        return _job(rows[0])

    async def all(self) -> list[Job]:
        """Return every job, oldest first."""
        return [_job(row) for row in await self._storage.fetch("jobs")]

    async def of_chat(self, chat: JobChat) -> list[Job]:
        """Return the jobs of a chat, oldest first."""
        where = {"channel": chat.channel, "chat_id": chat.chat_id}
        return [_job(row) for row in await self._storage.fetch("chat_jobs", **where)]

    async def due(self, now: float) -> list[Job]:
        """Return the jobs that are due now, the longest due first."""
        return [_job(row) for row in await self._storage.fetch("due_jobs", now=now)]

    async def next_due(self, now: float) -> float | None:
        """Return when the next job after ``now`` is due; None if there is none."""
        due: float | None = (await self._storage.fetch("next_due", now=now))[0]["due"]
        return due

    async def remove(self, job: Job) -> None:
        """Delete a job."""
        await self._storage.execute("remove_job", id=job.id)

    async def pause(self, job: Job) -> None:
        """Pause a job."""
        await self._storage.execute("pause_job", id=job.id)

    async def resume(self, job: Job, due: float) -> None:
        """Resume a job, which is next due at ``due`` (Unix seconds)."""
        await self._storage.execute("resume_job", id=job.id, due=due)

    async def request_run(self, job: Job) -> None:
        """Record that a person requested a run now."""
        await self._storage.execute("ask_for_job", id=job.id)

    async def move_earlier(self, clock: Callable[[], float]) -> None:
        """Recompute due times after the clock was set back."""
        for job in await self.all():
            if (
                job.state == "on"
                and job.due is not None
                and not isinstance(job.schedule, OneTimeSchedule)
            ):
                due = next_due(job.schedule, clock(), job.last_due)
                if due is not None and due < job.due:
                    await self._storage.execute("pull_in", id=job.id, due=due, was=job.due)

    # Runs

    async def claim(self, job: Job, process: str, now: float) -> JobRun | None:
        """Claim a run of a job that is due or requested; None if another process has it."""
        run_id = secrets.token_hex(8)
        due = now if job.requested or job.due is None else job.due
        row = {"id": run_id, "job_id": job.id, "process": process, "asked": int(job.requested)}
        row |= {**_chat_columns(job.chat), "due": due, "now": now}

        def work(tables: Transaction) -> int:
            if job.requested:
                claimed = tables.execute("claim_asked", id=job.id, run=run_id)
            else:
                following = job.schedule.after(max(now, due))
                times = {"was": job.due, "due": following}
                claimed = tables.execute("claim_due", id=job.id, run=run_id, **times)
            return tables.execute("add_run", **row) if claimed else 0

        return await self.run(run_id) if await self._storage.transact(work) else None

    async def run(self, run_id: str) -> JobRun | None:
        """Return a run; None if there is none."""
        rows = await self._storage.fetch("run", id=run_id)
        return _run(rows[0]) if rows else None

    async def begin(self, run: JobRun, process: str, now: float) -> bool:
        """Mark a claimed run as running; return whether this process may run it."""
        row = {"id": run.id, "process": process, "now": now}
        return await self._storage.execute("begin_run", **row) > 0

    async def release(self, run: JobRun) -> None:
        """Return a claimed run that was not started: its job is due again."""

        def work(tables: Transaction) -> None:
            if tables.execute("drop_run", id=run.id):
                again = {"run": run.id, "asked": int(run.requested), "due": run.due}
                tables.execute("release_job", id=run.job_id, **again)

        await self._storage.transact(work)

    async def end(self, run: JobRun, outcome: RunOutcome, now: float) -> bool:
        """Store how a run ended and update its job.

        A failure is shown unless the previous run failed too. Returns False if the run had ended
        before.
        """

        def work(tables: Transaction) -> bool:
            rows = tables.fetch("job", id=run.job_id)
            text = _shown_text(_job(rows[0]), outcome) if rows else ""
            row = {"id": run.id, "now": now, "outcome": outcome.status, "reason": outcome.reason}
            if not tables.execute("end_run", **row, text=text):
                return False
            if rows:
                _update_job(tables, _job(rows[0]), run, outcome, now)
            return True

        return await self._storage.transact(work)

    async def old_runs(self, job_id: str) -> list[JobRun]:
        """Return delivered runs of a job beyond its newest :data:`MAX_STORED_RUNS`."""
        found = await self._storage.fetch("old_runs", job_id=job_id, most=MAX_STORED_RUNS)
        return [_run(row) for row in found]

    async def delete_run(self, run: JobRun) -> None:
        """Delete a run."""
        await self._storage.execute("forget_run", id=run.id)

    async def open_runs(self) -> list[JobRun]:
        """Return the runs that are claimed or running."""
        return [_run(row) for row in await self._storage.fetch("open_runs")]

    async def last_runs(self) -> dict[str, JobRun]:
        """Return the newest ended run of each job."""
        runs = [_run(row) for row in await self._storage.fetch("last_runs")]
        return {run.job_id: run for run in runs}

    async def undelivered(self) -> list[JobRun]:
        """Return runs whose text was not delivered, oldest first."""
        return [_run(row) for row in await self._storage.fetch("waiting_results")]

    async def mark_handed_over(self, run: JobRun) -> None:
        """Record that core has stored the run's text for delivery."""
        await self._storage.execute("hand_over", id=run.id)


def _shown_text(job: Job, outcome: RunOutcome) -> str:
    """Return what is shown in the chat; a job that keeps failing is reported once."""
    return "" if not outcome.is_success and job.failure_reported else outcome.text


def _update_job(
    tables: Transaction, job: Job, run: JobRun, outcome: RunOutcome, now: float
) -> None:
    """Update a job after its run ended. Times that came due meanwhile are skipped."""
    if isinstance(job.schedule, OneTimeSchedule) and job.due is None and outcome.is_success:
        tables.execute("remove_job", id=job.id)
        return
    due, state = job.due, job.state
    if due is not None and due <= now:
        due = job.schedule.after(now)
    if outcome.pauses or due is None:
        due, state = None, "paused"
    reported = int(not outcome.is_success)
    tables.execute("end_job", id=job.id, run=run.id, due=due, state=state, told=reported)


def _chat_columns(chat: JobChat) -> dict[str, str]:
    return {"channel": chat.channel, "chat_id": chat.chat_id, "user_id": chat.user_id}


def _schedule_columns(schedule: Schedule) -> dict[str, Any]:
    match schedule:
        case CronSchedule(expression, _):
            return {"kind": "cron", "expression": expression, "anchor": 0.0}
        case IntervalSchedule(seconds, anchor):
            return {"kind": "every", "expression": str(seconds), "anchor": anchor}
        case OneTimeSchedule(at):
            return {"kind": "once", "expression": "", "anchor": at}


def _schedule(row: Mapping[str, Any]) -> Schedule:
    if row["kind"] == "cron":
        return CronSchedule(row["expression"], row["zone"])
    if row["kind"] == "every":
        return IntervalSchedule(int(row["expression"]), row["anchor"])
    return OneTimeSchedule(row["anchor"])


def _job(row: Mapping[str, Any]) -> Job:
    return Job(
        row["id"],
        JobChat(row["channel"], row["chat_id"], row["user_id"], row["workspace"]),
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


def _run(row: Mapping[str, Any]) -> JobRun:
    names = ("started", "ended", "outcome", "reason", "text")
    return JobRun(
        row["id"],
        row["job_id"],
        JobChat(row["channel"], row["chat_id"], row["user_id"]),
        row["process"],
        row["state"],
        row["due"],
        bool(row["asked"]),
        *[row[name] for name in names],
    )
