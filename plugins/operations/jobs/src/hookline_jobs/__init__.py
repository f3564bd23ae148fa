"""Hookline plugin ``jobs``: runs what plugins register with ``register_jobs``.

Due jobs are checked every minute and after each turn, so that short-lived processes run them too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from hookline_hookspecs import (
    Context,
    HooklineError,
    Host,
    Job,
    Plugin,
    PluginFailure,
    Turn,
    WorkDistribution,
    hookimpl,
)
from pydantic import BaseModel, Field

from .due_times import last_due, next_due

__all__ = ["Jobs", "JobsConfig"]


class JobsConfig(BaseModel):
    """How often due jobs are checked."""

    look_every: float = Field(
        default=60.0,
        ge=0.01,
        title="Check interval (seconds)",
        description="Seconds between checks for due jobs.",
    )


class Jobs(Plugin[JobsConfig]):
    """Runs each job when ``every`` seconds have passed since any process last started it."""

    def __init__(self, config: JobsConfig, host: Host) -> None:
        super().__init__(config, host)
        self._running: set[str] = set()
        self._started_here: set[str] = set()
        self._last_started: dict[str, float] = {}
        """When each job was last started (Unix seconds), as far as this process knows."""
        self._nothing_due = (0.0, 0.0)
        """The period in which no job is due (Unix seconds), as far as this process knows."""

    @hookimpl
    def setup(self, host: Host) -> None:
        """Start to check for due jobs."""
        host.spawn(self._check_regularly(), "check for due jobs")

    @hookimpl
    async def end_of_turn(self, ctx: Context, turn: Turn) -> None:
        """Run due jobs, now that the reply has been sent."""
        since, until = self._nothing_due
        if turn.session.kind == "chat" and not since <= self.host.now() < until:
            await self.run_due()

    async def _check_regularly(self) -> None:
        while True:
            await asyncio.sleep(self.config.look_every)
            if self.host.services[WorkDistribution].runs_turns_here:  # jobs may ask a model
                await self.run_due()

    async def run_due(self) -> None:
        """Run every job that is due, concurrently. A failure does not affect the others."""
        jobs = self.host.registered(Job)
        if not self._last_started:
            await self._read_starts()
        await asyncio.gather(*[self._run_if_due(plugin, job) for plugin, job in jobs])
        now = self.host.now()
        following = [
            next_due(job, now, self._last_started.get(f"{plugin}/{job.name}"))
            for plugin, job in jobs
        ]
        self._nothing_due = (now, min(following, default=0.0))

    async def last_starts(self) -> Mapping[str, float]:
        """When each job was last started (Unix seconds), by ``PLUGIN/JOB``."""
        await self._read_starts()
        return self._last_started

    async def run_now(self, plugin: str, job: Job) -> None:
        """Run a job now, whether or not it is due. Raises what it raises."""
        await self._note_start(f"{plugin}/{job.name}", due=self.host.now())
        await job.run()

    async def _run_if_due(self, plugin: str, job: Job) -> None:
        name = f"{plugin}/{job.name}"
        if name in self._running:
            return
        self._running.add(name)
        try:
            if await self._claim(name, job):
                await job.run()
        except Exception as error:
            reason = str(error) or type(error).__name__
            self.log.warning("job %s failed: %s", name, reason, exc_info=error)
            failure = PluginFailure(plugin, f"job {job.name}", reason)
            self.host.signals.send("plugin_failed", failure)
        finally:
            self._running.discard(name)

    async def _claim(self, name: str, job: Job) -> bool:
        """Claim the job for this process; return whether it is due and no other process took it."""
        now = self.host.now()
        first = job.at_start and name not in self._started_here
        self._started_here.add(name)
        last, due = self._last_started.get(name), last_due(job, now)
        if not first and last is not None and due < last <= now:
            return False
        try:
            if last is None and job.at is not None and not first:
                await self._note_start(name, due=now)  # a new job waits for its time of day
                return False
            if await self._note_start(name, due=now if first else due):
                return True
        except HooklineError as error:
            self.log.warning("job %s was not run: %s", name, error)
            return False
        await self._read_starts()  # another process has started it
        return False

    async def _note_start(self, name: str, *, due: float) -> bool:
        """Store that the job starts now, unless it was started after ``due``; return whether."""
        now = self.host.now()
        if await self.host.storage.execute("claim", name=name, now=now, due=due):
            self._last_started[name] = now
            return True
        return False

    async def _read_starts(self) -> None:
        """Read when each job was last started, by any process."""
        try:
            rows = await self.host.storage.fetch("runs")
        except HooklineError as error:
            self.log.warning("cannot read when jobs were last run: %s", error)
            return
        self._last_started = {row["name"]: row["begun"] for row in rows}
