"""Hookline plugin ``jobs``: runs what plugins register with ``register_jobs``.

Reached by the entry point ``hookline_jobs:Jobs``. Due jobs are looked for every minute, and after
each turn, so that short-lived processes run them too.
"""

from __future__ import annotations

import asyncio

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

__all__ = ["Jobs", "JobsConfig"]


class JobsConfig(BaseModel):
    """How often due jobs are looked for."""

    look_every: float = Field(default=60.0, ge=0.01, description="Seconds between two checks.")


class Jobs(Plugin[JobsConfig]):
    """Runs each job when ``every`` seconds have passed since any process last started it."""

    def __init__(self, config: JobsConfig, host: Host) -> None:
        super().__init__(config, host)
        self._running: set[str] = set()
        self._started: set[str] = set()
        self._begun: dict[str, float] = {}
        """When each job was last started, as far as this process knows (Unix seconds)."""
        self._quiet = (0.0, 0.0)
        """The period in which nothing is due, as far as this process knows (Unix seconds)."""

    @hookimpl
    def setup(self, host: Host) -> None:
        """Begin to look."""
        host.spawn(self._look_on(), "look")

    @hookimpl
    async def end_of_turn(self, ctx: Context, turn: Turn) -> None:
        """Run what is due, now that the reply has been sent."""
        since, until = self._quiet
        if turn.session.kind == "chat" and not since <= self.host.now() < until:
            await self.run_due()

    async def _look_on(self) -> None:
        while True:
            await asyncio.sleep(self.config.look_every)
            if self.host.services[WorkDistribution].runs_turns_here:  # jobs may ask a model
                await self.run_due()

    async def run_due(self) -> None:
        """Run every job that is due, concurrently. A failure does not affect the others."""
        jobs = self.host.registered(Job)
        if not self._begun:
            await self._read()
        await asyncio.gather(*[self._run_if_due(plugin, job) for plugin, job in jobs])
        following = [self._begun.get(f"{name}/{job.name}", 0.0) + job.every for name, job in jobs]
        self._quiet = (self.host.now(), min(following, default=0.0))

    async def _run_if_due(self, plugin: str, job: Job) -> None:
        name = f"{plugin}/{job.name}"
        if name in self._running:
            return
        self._running.add(name)
        try:
            if await self._claimed(name, job):
                await job.run()
        except Exception as error:
            reason = str(error) or type(error).__name__
            self.log.warning("job %s failed: %s", name, reason, exc_info=error)
            failure = PluginFailure(plugin, f"job {job.name}", reason)
            self.host.signals.send("plugin_failed", failure)
        finally:
            self._running.discard(name)

    async def _claimed(self, name: str, job: Job) -> bool:
        """Claim the job for this process; return whether it is due and no other process took it."""
        now = self.host.now()
        first = job.at_start and name not in self._started
        self._started.add(name)
        begun = self._begun.get(name)
        if not first and begun is not None and begun <= now < begun + job.every:
            return False
        due = now if first else now - job.every
        try:
            if await self.host.storage.execute("claim", name=name, now=now, due=due):
                self._begun[name] = now
                return True
        except HooklineError as error:
            self.log.warning("job %s is not run: %s", name, error)
            return False
        await self._read()  # another process has started it
        return False

    async def _read(self) -> None:
        """Read when each job was last started, by whatever process."""
        try:
            rows = await self.host.storage.fetch("runs")
        except HooklineError as error:
            self.log.warning("when jobs were last run cannot be read: %s", error)
            return
        self._begun = {row["name"]: row["begun"] for row in rows}
