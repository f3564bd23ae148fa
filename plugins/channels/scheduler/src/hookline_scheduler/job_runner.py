"""Runs due jobs in a long-running process: checks, claims, runs and delivers.

A run for a chat on a network channel needs that chat's context, so that it uses the chat's
workspace and model. To get it, the scheduler sends itself the message ``/schedule begin RUN`` on
that channel on behalf of the owner, and guards judge the owner as for any message. The result is
sent as ``/schedule result RUN``: core stores it in its inbox and outbox and delivers it as the
answer of a command. The terminal's runs need no context; their results are answers in the session
of the open chat.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from hookline_hookspecs import Context, HooklineError, Host, Inbound, Inspection, Origin, Store
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.process_lock import ProcessLock

from . import job_text
from .config import SchedulerConfig
from .errors import ScheduleError
from .job_store import Job, JobChat, JobRun, JobStore, RunOutcome

MIN_CLOCK_JUMP = 5.0
"""Seconds by which the clock must fall behind the monotonic one to count as set back."""
BEGIN, RESULT = "begin", "result"


class JobRunner:
    """Runs the due jobs of one process."""

    needs_no_channel = True
    runs_turns = True

    def __init__(self, host: Host, config: SchedulerConfig, jobs: JobStore, workspace: str) -> None:
        self._host = host
        self._config = config
        self._jobs = jobs
        self._workspace = workspace
        self._process = ProcessLock(host.storage, host.services.get(Store))
        self._has_network = False
        self._has_terminal = False
        self._is_stopping = False
        self._chat_session: str | None = None
        self._woken = asyncio.Event()
        self._check_task: asyncio.Task[None] | None = None
        self._check_lock = asyncio.Lock()
        self._runs: dict[str, asyncio.Task[None] | None] = {}
        """The runs of this process; None until their chat's context is there."""
        self._expected: dict[str, JobRun] = {}
        """Runs that wait for their chat's context."""
        self._accepted: set[str] = set()
        """Of these, the ones whose message the guards have accepted."""
        self._origins: dict[str, tuple[Origin, ...]] = {}
        self._clocks: tuple[float, float] | None = None
        """The clock and the monotonic clock at the last check."""

    # Start and end

    @property
    def is_running(self) -> bool:
        """Whether this process checks for due jobs."""
        return self._check_task is not None

    @property
    def busy(self) -> bool:
        """Whether this process has a run (protocol ``GatewayService``)."""
        return bool(self._runs)

    async def gateway_up(self, channels: Sequence[str]) -> None:
        """Check for due jobs from now on: the network channels are up."""
        self._has_network, self._is_stopping = True, False
        self._start_checking()

    def chat_is_open(self, session_id: str | None) -> None:
        """Check for due jobs from now on: a person chats in the terminal, in this session."""
        self._chat_session = session_id
        if not self._has_terminal:
            self._has_terminal = True
            self._start_checking()

    def _start_checking(self) -> None:
        if self._check_task is None:
            self._process.hold()
            self._check_task = self._host.spawn(self._check_loop(), "check due jobs")
        self.wake()

    def wake(self) -> None:
        """Check for due jobs now."""
        self._woken.set()

    async def gateway_stopping(self) -> None:
        """Start no more runs, and wait for current ones for the configured time."""
        self._has_network, self._is_stopping = False, True
        tasks = [task for task in self._runs.values() if task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=self._config.drain)

    async def end(self) -> None:
        """Stop, and release the process's lock."""
        await self._process.leave()

    # Checking

    async def _check_loop(self) -> None:
        while True:
            self._woken.clear()
            try:
                pause = await self.check_due_jobs()
            except HooklineError as error:
                self._host.log.warning("cannot check for due jobs; will retry: %s", error)
                pause = self._config.look_every
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._woken.wait()

    async def check_due_jobs(self) -> float:
        """Start due runs and deliver results; return the seconds until the next check."""
        async with self._check_lock:
            now = self._host.now()
            await self._check_clock(now)
            await self.recover_dead_runs()
            await self._deliver()
            for job in await self._jobs.due(now):
                if self._is_stopping or len(self._runs) >= self._config.parallel:
                    break
                if self._serves(job.chat):
                    await self._start(job, now)
            due = await self._jobs.next_due(now)
            pause = due - self._host.now() if due is not None else self._config.look_every
            return min(max(pause, 0.0), self._config.look_every)

    async def _check_clock(self, now: float) -> None:
        """Adjust due times if the clock was set back, now or while no process was running."""
        before, self._clocks = self._clocks, (now, time.monotonic())
        if before is not None:
            ahead = (now - before[0]) - (self._clocks[1] - before[1])
            if ahead > -MIN_CLOCK_JUMP:
                return
        await self._jobs.move_earlier(self._host.now)

    def _serves(self, chat: JobChat) -> bool:
        """Whether this process runs the jobs of a chat."""
        if chat.channel == TERMINAL:
            return chat.workspace == self._workspace
        return self._has_network and self._has_channel(chat.channel)

    def _reaches(self, chat: JobChat) -> bool:
        """Whether this process can send to a chat."""
        if chat.channel == TERMINAL:
            return self._has_terminal
        return self._has_network and self._has_channel(chat.channel)

    def _has_channel(self, name: str) -> bool:
        return any(channel.name == name for channel in self._host.channels())

    async def recover_dead_runs(self) -> None:
        """Make claimed runs of dead processes due again, and report those that had started."""
        runs = await self._jobs.open_runs()
        dead = [run for run in runs if not await self._process.lives(run.process)]
        for run in dead:
            if run.state == "claimed":
                await self._jobs.release(run)
            else:
                await self._store_outcome(run, await self._interrupted(run))
        if dead:
            self._process.clean()

    async def _interrupted(self, run: JobRun) -> RunOutcome:
        try:
            return job_text.interruption(await self._jobs.get(run.job_id), run)
        except ScheduleError:  # removed meanwhile
            return RunOutcome("interrupted")

    # Running

    async def _start(self, job: Job, now: float) -> None:
        await self._process.join()
        run = await self._jobs.claim(job, self._process.id, now)
        if run is None:
            return
        if job.chat.channel == TERMINAL:
            self._spawn(run, None)
            return
        self._runs[run.id] = None
        self._expected[run.id] = run
        try:
            await self._host.receive(self._message(run, BEGIN))
        except HooklineError:
            self._forget(run)
            await self._jobs.release(run)
            raise

    def start_expected(self, ctx: Context, run_id: str) -> None:
        """Start a run with its chat's context, if this process expects it."""
        run = self._expected.get(run_id)
        if run is not None and _is_of(run, ctx.turn.inbound):
            del self._expected[run_id]
            self._spawn(run, ctx)

    def _spawn(self, run: JobRun, ctx: Context | None) -> None:
        self._runs[run.id] = self._host.spawn(self._run_and_wake(run, ctx), f"run {run.id}")

    async def _run_and_wake(self, run: JobRun, ctx: Context | None) -> None:
        try:
            await self._execute(run, ctx)
        finally:
            self._forget(run)
            self.wake()

    async def run_here(self, job_id: str) -> RunOutcome | None:
        """Run a job of the terminal at once; its outcome is returned and not delivered.

        None if another process has it, or it is gone.
        """
        await self._process.join()
        job = replace(await self._jobs.get(job_id), requested=True)
        run = await self._jobs.claim(job, self._process.id, self._host.now())
        outcome = await self._execute(run, None) if run is not None else None
        if run is not None and outcome is not None:
            await self._jobs.mark_handed_over(run)
        return outcome

    async def _execute(self, run: JobRun, ctx: Context | None) -> RunOutcome | None:
        """Execute a claimed run; None if another process has it, or its job is gone."""
        if not await self._jobs.begin(run, self._process.id, self._host.now()):
            return None
        try:
            job = await self._jobs.get(run.job_id)
        except ScheduleError:
            await self._store_outcome(run, RunOutcome("interrupted"))
            return None
        session_id = run_session_id(run.job_id, run.id)
        self._origins[session_id] = job.origins
        try:
            outcome = await self._run_turn(job, run, session_id, ctx)
        finally:
            del self._origins[session_id]
        await self._store_outcome(run, outcome)
        return outcome

    def origins(self, session_id: str) -> tuple[Origin, ...]:
        """Return the origins of the prompt of the job that runs in a session."""
        return self._origins.get(session_id, ())

    async def _run_turn(
        self, job: Job, run: JobRun, session_id: str, ctx: Context | None
    ) -> RunOutcome:
        now = self._host.now()
        late = now - run.due > self._config.late_after
        note = job_text.lateness(job, run, now) if late else ""
        try:
            async with asyncio.timeout(self._config.timeout):
                turn = await self._host.run_turn(
                    job.prompt,
                    parent=ctx,
                    session_id=session_id,
                    system=job_text.instruction(job, run, note),
                    kind="schedule",
                )
        except TimeoutError:
            return job_text.failure(job, f"it took longer than {self._config.timeout:g} s")
        except Exception as error:
            self._host.log.warning("job %s failed", job.id, exc_info=error)
            return job_text.failure(job, str(error) or type(error).__name__)
        return job_text.outcome(job, turn, note)

    async def _store_outcome(self, run: JobRun, outcome: RunOutcome) -> None:
        """Store how a run ended, retrying until the store works."""
        while True:
            try:
                await self._jobs.end(run, outcome, self._host.now())
                break
            except HooklineError as error:
                self._host.log.warning("cannot store the end of run %s: %s", run.id, error)
                await asyncio.sleep(self._config.look_every)
        with suppress(HooklineError):  # the next run deletes them
            await self._delete_old_runs(run.job_id)

    async def _delete_old_runs(self, job_id: str) -> None:
        """Delete old runs of a job and their sessions, so that they do not fill the store."""
        core = self._host.services[Inspection]
        for run in await self._jobs.old_runs(job_id):
            await core.delete_session(run_session_id(run.job_id, run.id))
            await self._jobs.delete_run(run)

    def _forget(self, run: JobRun) -> None:
        self._runs.pop(run.id, None)
        self._expected.pop(run.id, None)
        self._accepted.discard(run.id)

    # Messages to itself

    async def _deliver(self) -> None:
        """Pass undelivered results to core, which stores them until they are delivered."""
        for run in await self._jobs.undelivered():
            if self._reaches(run.chat):
                await self._host.receive(self._message(run, RESULT))
                await self._jobs.mark_handed_over(run)

    def _message(self, run: JobRun, action: str) -> Inbound:
        chat = run.chat
        return Inbound(
            channel=chat.channel,
            chat_id=chat.chat_id,
            user_id=chat.user_id,
            message_id=message_id(action, run.id),
            text=f"/schedule {action} {run.id}",
            received=self._host.now(),
            session_id=self._chat_session if chat.channel == TERMINAL else None,
        )

    async def result(self, ctx: Context, run_id: str) -> str:
        """Return what is shown in the chat about a run."""
        run = await self._jobs.run(run_id)
        return run.text if run is not None and _is_of(run, ctx.turn.inbound) else ""

    def on_message(self, inbound: Inbound, ctx: Context | None = None) -> None:
        """Signal ``on_message``: guards have accepted a message."""
        if (run_id := message_run_id(inbound, BEGIN)) in self._expected:
            self._accepted.add(run_id)

    def on_settled(self, inbound: Inbound, ctx: Context | None = None) -> None:
        """Signal ``settled``: a message needs no further work.

        If a begin message has not started its run by now, guards have refused the owner, or the
        session could not be opened.
        """
        if inbound.channel == TERMINAL:
            self.chat_is_open(inbound.session_id)
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            return  # The process ends; the next one handles the message.
        run = self._expected.pop(message_run_id(inbound, BEGIN), None)
        if run is not None:
            self._host.spawn(self._fail_unstarted(run), f"refused {run.id}")

    async def _fail_unstarted(self, run: JobRun) -> None:
        is_accepted = run.id in self._accepted
        self._forget(run)
        try:
            job = await self._jobs.get(run.job_id)
        except ScheduleError:
            await self._store_outcome(run, RunOutcome("interrupted"))
            return
        if is_accepted:
            outcome = job_text.failure(job, "the chat's session could not be opened")
        else:
            reason = f"its owner {job.chat.user_id} no longer has access on {job.chat.channel}"
            outcome = RunOutcome("failed", reason=reason, pauses=True)
        await self._store_outcome(run, outcome)
        self.wake()


def _is_of(run: JobRun, inbound: Inbound) -> bool:
    """Whether a message is from the chat of a run."""
    return (run.chat.channel, run.chat.chat_id) == (inbound.channel, inbound.chat_id)


def run_session_id(job_id: str, run_id: str) -> str:
    """Return the id of the session of a run."""
    return f"schedule-{job_id}-{run_id}"


def message_id(action: str, run_id: str) -> str:
    """Return the id of a message that the scheduler sends to itself."""
    return f"schedule:{run_id}:{action}"


def message_run_id(inbound: Inbound, action: str) -> str:
    """Return the run that such a message is about; empty for other messages."""
    head, _, rest = inbound.message_id.partition(":")
    run_id, _, tail = rest.partition(":")
    is_command = inbound.text.split() == ["/schedule", action, run_id]
    return run_id if head == "schedule" and tail == action and is_command else ""
