"""Runs due jobs in a long-running process: checks, claims, runs and delivers.

A run of a chat on a network channel needs that chat's context, so that it acts in the chat's
workspace with the chat's model. The scheduler gets it by sending itself a message on that channel
on behalf of the owner, ``/schedule begin RUN``; so the gates judge the owner as for any message.
The result is sent the same way, ``/schedule result RUN``: core stores it in its inbox and outbox
and delivers it as the answer of a command. The terminal's runs need no context; their results come
as answers in the session of the chat that is open.
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

from . import wording
from .complaint import Complaint
from .config import SchedulerConfig
from .jobs import Chat, Ending, Job, Jobs, Run

JUMP = 5.0
"""Seconds by which the clock must fall behind the machine's steady one to have been set back."""
BEGIN, RESULT = "begin", "result"


class Service:
    """The scheduler of one process."""

    needs_no_channel = True
    runs_turns = True

    def __init__(self, host: Host, config: SchedulerConfig, jobs: Jobs, workspace: str) -> None:
        self._host = host
        self._config = config
        self._jobs = jobs
        self._workspace = workspace
        self._process = ProcessLock(host.storage, host.services.get(Store))
        self._network = self._terminal = self._stopping = False
        self._chat_session: str | None = None
        self._woken = asyncio.Event()
        self._looker: asyncio.Task[None] | None = None
        self._looking = asyncio.Lock()
        self._working: dict[str, asyncio.Task[None] | None] = {}
        self._expected: dict[str, Run] = {}
        self._passed: set[str] = set()
        self._origins: dict[str, tuple[Origin, ...]] = {}
        self._clocks: tuple[float, float] | None = None

    # The process's life

    @property
    def lives(self) -> bool:
        """Whether this process looks for due jobs."""
        return self._looker is not None

    @property
    def busy(self) -> bool:
        """Whether a run is under way in this process, or about to begin."""
        return bool(self._working)

    async def gateway_up(self, channels: Sequence[str]) -> None:
        """The network channels are up in this process: look for due jobs."""
        self._network, self._stopping = True, False
        self._live()

    def chat_is_open(self, session_id: str | None) -> None:
        """A person talks in this process's terminal, in this session."""
        self._chat_session = session_id
        if not self._terminal:
            self._terminal = True
            self._live()

    def _live(self) -> None:
        if self._looker is None:
            self._process.hold()
            self._looker = self._host.spawn(self._look_on(), "look")
        self.wake()

    def wake(self) -> None:
        """Check for due jobs now."""
        self._woken.set()

    async def gateway_stopping(self) -> None:
        """Start no more runs, and wait a while for those under way."""
        self._network, self._stopping = False, True
        tasks = [task for task in self._working.values() if task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=self._config.drain)

    async def end(self) -> None:
        """Stop, and release the process's lock."""
        await self._process.leave()

    # Looking

    async def _look_on(self) -> None:
        while True:
            self._woken.clear()
            try:
                pause = await self.look()
            except HooklineError as error:
                self._host.log.warning("due jobs cannot be looked for: %s", error)
                pause = self._config.look_every
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._woken.wait()

    async def look(self) -> float:
        """Start due runs and deliver results; return the seconds until the next check."""
        async with self._looking:
            return await self._look()

    async def _look(self) -> float:
        now = self._host.now()
        await self._notice_the_clock(now)
        await self.settle_the_dead()
        await self._deliver()
        for job in await self._jobs.due(now):
            if self._stopping or len(self._working) >= self._config.parallel:
                break
            if self._serves(job.chat):
                await self._start(job, now)
        following = await self._jobs.next_due(now)
        left = following - self._host.now() if following is not None else self._config.look_every
        return min(max(left, 0.0), self._config.look_every)

    async def _notice_the_clock(self, now: float) -> None:
        """Adjust due times if the clock was set back, now or while no process was running."""
        before, self._clocks = self._clocks, (now, time.monotonic())
        if before is not None:
            ahead = (now - before[0]) - (self._clocks[1] - before[1])
            if ahead > -JUMP:
                return
        await self._jobs.pull_in(self._host.now)

    def _serves(self, chat: Chat) -> bool:
        """Whether this process runs the jobs of a chat."""
        if chat.channel == TERMINAL:
            return chat.workspace == self._workspace
        return self._network and self._is_there(chat.channel)

    def _reaches(self, chat: Chat) -> bool:
        """Whether this process can say something to a chat."""
        if chat.channel == TERMINAL:
            return self._terminal
        return self._network and self._is_there(chat.channel)

    def _is_there(self, channel: str) -> bool:
        return any(one.name == channel for one in self._host.channels())

    async def settle_the_dead(self) -> None:
        """Make a dead process's claimed runs due again, and report those it had started."""
        runs = await self._jobs.open_runs()
        left = [run for run in runs if not await self._process.lives(run.process)]
        for run in left:
            if run.state == "claimed":
                await self._jobs.release(run)
            else:
                await self._ended(run, await self._interrupted(run))
        if left:
            self._process.clean()

    async def _interrupted(self, run: Run) -> Ending:
        try:
            return wording.interruption(await self._jobs.get(run.job_id), run)
        except Complaint:  # removed meanwhile
            return Ending("interrupted")

    # Working

    async def _start(self, job: Job, now: float) -> None:
        await self._process.join()
        run = await self._jobs.claim(job, self._process.id, now)
        if run is None:
            return
        if job.chat.channel == TERMINAL:
            self._spawn(run, None)
            return
        self._working[run.id], self._expected[run.id] = None, run
        try:
            await self._host.receive(self._message(run, BEGIN))
        except HooklineError:
            self._forget(run)
            await self._jobs.release(run)
            raise

    def began(self, ctx: Context, run_id: str) -> None:
        """The chat's context is there: work on the run, if this process waits for it."""
        run = self._expected.get(run_id)
        if run is not None and _is_of(run, ctx.turn.inbound):
            del self._expected[run_id]
            self._spawn(run, ctx)

    def _spawn(self, run: Run, ctx: Context | None) -> None:
        self._working[run.id] = self._host.spawn(self._work_on(run, ctx), f"run {run.id}")

    async def _work_on(self, run: Run, ctx: Context | None) -> None:
        try:
            await self.work(run, ctx)
        finally:
            self._forget(run)
            self.wake()

    async def run_here(self, job_id: str) -> Ending | None:
        """Run a job of the terminal at once and return its end, which is not reported elsewhere;
        None if another process has it, or it is gone."""
        await self._process.join()
        job = replace(await self._jobs.get(job_id), asked=True)
        run = await self._jobs.claim(job, self._process.id, self._host.now())
        ending = await self.work(run, None) if run is not None else None
        if run is not None and ending is not None:
            await self._jobs.hand_over(run)
        return ending

    async def work(self, run: Run, ctx: Context | None) -> Ending | None:
        """Execute a claimed run; None if it is not this process's, or its job is gone."""
        if not await self._jobs.begin(run, self._process.id, self._host.now()):
            return None
        try:
            job = await self._jobs.get(run.job_id)
        except Complaint:
            await self._ended(run, Ending("interrupted"))
            return None
        ending = await self._turn(job, run, ctx)
        await self._ended(run, ending)
        return ending

    async def _turn(self, job: Job, run: Run, ctx: Context | None) -> Ending:
        """Run the job's prompt as a turn of a new session."""
        session_id = session_of(run)
        self._origins[session_id] = job.origins
        try:
            return await self._run_turn(job, run, session_id, ctx)
        finally:
            del self._origins[session_id]

    def origins(self, session_id: str) -> tuple[Origin, ...]:
        """The origins of the prompt of the job that runs in a session."""
        return self._origins.get(session_id, ())

    async def _run_turn(self, job: Job, run: Run, session_id: str, ctx: Context | None) -> Ending:
        now = self._host.now()
        late = now - run.due > self._config.late_after
        note = wording.lateness(job, run, now) if late else ""
        try:
            async with asyncio.timeout(self._config.timeout):
                turn = await self._host.run_turn(
                    job.prompt,
                    parent=ctx,
                    session_id=session_id,
                    system=wording.instruction(job, run, note),
                    kind="schedule",
                )
        except TimeoutError:
            return wording.failure(job, f"it took longer than {self._config.timeout:g} s")
        except Exception as error:
            self._host.log.warning("job %s failed", job.id, exc_info=error)
            return wording.failure(job, str(error) or type(error).__name__)
        return wording.ending(job, turn, note)

    async def _ended(self, run: Run, ending: Ending) -> None:
        """Store the end, retrying until the store works."""
        while True:
            try:
                await self._jobs.end(run, ending, self._host.now())
                break
            except HooklineError as error:
                self._host.log.warning("the end of run %s is not stored: %s", run.id, error)
                await asyncio.sleep(self._config.look_every)
        with suppress(HooklineError):  # next time, then
            await self._prune(run.job_id)

    async def _prune(self, job_id: str) -> None:
        """Delete the sessions of a job's old runs, so that a frequent job does not fill the
        store."""
        core = self._host.services[Inspection]
        for run in await self._jobs.old_runs(job_id):
            await core.delete_session(session_of(run))
            await self._jobs.forget(run)

    def _forget(self, run: Run) -> None:
        self._working.pop(run.id, None)
        self._expected.pop(run.id, None)
        self._passed.discard(run.id)

    # Messages to itself

    async def _deliver(self) -> None:
        """Hand undelivered results to core, which stores them until they are delivered."""
        for run in await self._jobs.waiting():
            if self._reaches(run.chat):
                await self._host.receive(self._message(run, RESULT))
                await self._jobs.hand_over(run)

    def _message(self, run: Run, what: str) -> Inbound:
        chat = run.chat
        text, id_ = f"/schedule {what} {run.id}", message_id(what, run.id)
        said = Inbound(chat.channel, chat.chat_id, chat.user_id, id_, text)
        session_id = self._chat_session if chat.channel == TERMINAL else None
        return replace(said, received=self._host.now(), session_id=session_id)

    async def result(self, ctx: Context, run_id: str) -> str:
        """Return what is shown in the chat about a run."""
        run = await self._jobs.run(run_id)
        return run.text if run is not None and _is_of(run, ctx.turn.inbound) else ""

    def heard(self, inbound: Inbound, ctx: Context | None = None) -> None:
        """Signal ``on_message``: the gates let a message pass."""
        if (run_id := own(inbound, BEGIN)) in self._expected:
            self._passed.add(run_id)

    def settled(self, inbound: Inbound, ctx: Context | None = None) -> None:
        """Signal ``settled``: a message needs no further work. Where one that was to begin a run
        did not, the chat has refused its owner, or its session could not be had."""
        if inbound.channel == TERMINAL:
            self.chat_is_open(inbound.session_id)
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            return  # The process ends; the next one takes the message up.
        run = self._expected.pop(own(inbound, BEGIN), None)
        if run is not None:
            self._host.spawn(self._not_begun(run), f"refused {run.id}")

    async def _not_begun(self, run: Run) -> None:
        passed = run.id in self._passed
        self._forget(run)
        try:
            job = await self._jobs.get(run.job_id)
        except Complaint:
            await self._ended(run, Ending("interrupted"))
            return
        if passed:
            ending = wording.failure(job, "the chat's session could not be had")
        else:
            reason = f"{job.chat.channel} does not let its owner {job.chat.user_id} in any more"
            ending = Ending("failed", reason=reason, pauses=True)
        await self._ended(run, ending)
        self.wake()


def _is_of(run: Run, inbound: Inbound) -> bool:
    """Whether a message came in the chat of a run."""
    return (run.chat.channel, run.chat.chat_id) == (inbound.channel, inbound.chat_id)


def session_of(run: Run) -> str:
    """The id of the session in which a run takes place."""
    return session_named(run.job_id, run.id)


def session_named(job_id: str, run_id: str) -> str:
    """The same, of a run by its ids."""
    return f"schedule-{job_id}-{run_id}"


def message_id(what: str, run_id: str) -> str:
    """The id of a message that the scheduler sends to itself."""
    return f"schedule:{run_id}:{what}"


def own(inbound: Inbound, what: str) -> str:
    """The run that such a message is about; empty for any other message."""
    head, _, rest = inbound.message_id.partition(":")
    run_id, _, tail = rest.partition(":")
    said = inbound.text.split() == ["/schedule", what, run_id]
    return run_id if head == "schedule" and tail == what and said else ""
