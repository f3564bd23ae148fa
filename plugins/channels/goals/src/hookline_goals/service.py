"""Goes from turn to turn of a goal: looks, sends the next message, judges, and reports.

A goal of a chat is worked on in the chat's session: each turn is a message that the plugin sends
itself on behalf of the owner, ``goal:ID:TURN``. Core stores it, puts it behind what people have
written, shows its answer, resumes it after a crash and takes a repeated one only once; so the gates
judge the owner as for any message. In the background a goal has a session of its own, whose turns
are run like those of scheduled jobs: nobody can be asked. What is reported to the chat is sent as
the answer to ``/goal report ID``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from hookline_hookspecs import (
    Context,
    Conversations,
    HooklineError,
    Host,
    Inbound,
    Message,
    Store,
    Turn,
)
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.process_lock import ProcessLock

from . import wording
from .config import GoalsConfig
from .judge import judge
from .records import Ended, Goal, Records, named

REPORT = ":report"
IDLE = 3
"""Turns in a row without a call of a tool after which a goal waits for a person."""
UNJUDGED = 3
"""Turns in a row that could not be judged after which it pauses."""
BEGUN = 30.0
"""Seconds in which the session of a background goal should be there."""
OWN_STOP = "You stopped it."


class Service:
    """The goals of one process."""

    needs_no_channel = False
    runs_turns = True

    def __init__(self, host: Host, config: GoalsConfig, records: Records) -> None:
        self._host, self._config, self._records = host, config, records
        self.process = ProcessLock(host.storage, host.services.get(Store))
        self._network = self._stopping = False
        self._chat_session: str | None = None
        self._woken = asyncio.Event()
        self._looker: asyncio.Task[None] | None = None
        self._judging: set[str] = set()
        self._began: dict[str, tuple[Goal, float]] = {}
        """Goals' turns under way, by message id, and since when by the loop's clock."""
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._late: set[str] = set()
        self._runs: dict[str, asyncio.Task[None]] = {}

    # The process's life

    async def gateway_up(self, channels: Sequence[str]) -> None:
        """The network channels are up in this process."""
        self._network, self._stopping = True, False
        self._live()

    def chat_is_open(self, session_id: str | None) -> None:
        """A person talks in this process's terminal, in this session."""
        self._chat_session = session_id
        self._live()

    def _live(self) -> None:
        if self._looker is None:
            self.process.hold()
            self._looker = self._host.spawn(self._look_on(), "look")
        self._woken.set()

    async def gateway_stopping(self) -> None:
        """Begin nothing more. Turns under way are resumed by the next process."""
        self._network, self._stopping = False, True

    async def end(self) -> None:
        """Release the process's lock: the next one goes on."""
        await self.process.leave()

    # Looking

    async def _look_on(self) -> None:
        while True:
            self._woken.clear()
            try:
                await self.look()
            except HooklineError as error:
                self._host.log.warning("goals cannot be looked for: %s", error)
            with suppress(TimeoutError):
                async with asyncio.timeout(self._config.look_every):
                    await self._woken.wait()

    async def look(self) -> None:
        """Send what was not sent, and go on with what a dead process left."""
        if self._stopping:
            return
        for goal in await self._records.untold():
            if self._serves(goal):
                await self._report(goal)
        for goal in await self._records.active():
            if not self._serves(goal):
                continue
            if goal.kind == "background":
                await self.take_up(goal)
            elif goal.message_id() not in self._began and goal.id not in self._judging:
                await self._send_or_settle(goal)

    def _serves(self, goal: Goal) -> bool:
        if goal.channel == TERMINAL:
            here = self._chat_session is not None
            if goal.kind == "background":
                return here and goal.workspace == self.workspace()
            return here and goal.address.get("session_id") == self._chat_session
        there = any(one.name == goal.channel for one in self._host.channels())
        return self._network and there

    def workspace(self) -> str:
        """The folder of the terminal's sessions of this process."""
        return str(Path(self._host.config.workspace).expanduser().resolve())

    # In the chat

    async def send(self, goal: Goal) -> bool:
        """Send the message of a goal's turn; False if it was sent before."""
        text = wording.prompt(goal, self._config)
        return await self._host.receive(goal.inbound(text, "", self._host.now()))

    async def _send_or_settle(self, goal: Goal) -> None:
        if await self.send(goal):
            return
        ended = await self._records.ended_turn(goal)
        if ended is not None:  # a process died between the end of the turn and the next message
            stop, session_id = ended
            await self._judged(goal, Ended(session_id, stop, await self._last_answer(session_id)))

    async def _last_answer(self, session_id: str) -> str:
        try:
            messages = await self._host.messages(session_id)
        except LookupError:
            return ""
        return next((one.text for one in reversed(messages) if one.role == "assistant"), "")

    async def begun(self, turn: Turn) -> None:
        """A turn begins; if it is a goal's, its time runs."""
        goal = await self.goal_of(turn.inbound)
        if goal is None:
            return
        loop, key = asyncio.get_running_loop(), turn.inbound.message_id
        self._began[key] = (goal, loop.time())
        left = self._config.minutes * 60 - goal.seconds
        self._timers[key] = loop.call_later(max(left, 0.0), self._time_is_up, turn.inbound)

    def _time_is_up(self, inbound: Inbound) -> None:
        self._late.add(inbound.message_id)
        self._host.spawn(self._host.services[Conversations].stop(inbound), "stop")

    async def goal_of(self, inbound: Inbound) -> Goal | None:
        """The goal whose turn a message begins; None for any other message."""
        found = named(inbound.message_id)
        goal = await self._records.get(found[0]) if found and not found[2] else None
        if goal is None or not goal.is_of(inbound) or goal.message_id() != inbound.message_id:
            return None
        return goal

    async def ended(self, turn: Turn) -> None:
        """A turn has ended; if it is a goal's, decide how it goes on."""
        key = turn.inbound.message_id
        if (timer := self._timers.pop(key, None)) is not None:
            timer.cancel()
        _, since = self._began.get(key, (None, None))
        goal = await self.goal_of(turn.inbound)
        try:
            if goal is not None:
                now = asyncio.get_running_loop().time()
                await self._judged(goal, ended_by(turn, now - since if since is not None else 0.0))
        finally:
            self._began.pop(key, None)
            self._late.discard(key)

    async def refused(self, inbound: Inbound) -> None:
        """The gates did not let a goal's message pass."""
        goal = await self.goal_of(inbound)
        if goal is not None:
            why = f"{goal.channel} does not let its owner {goal.user_id} in any more."
            await self._records.halt(goal, "paused", why, report=False)

    # Deciding

    async def _judged(self, goal: Goal, ended: Ended) -> Goal | None:
        """Store what a turn came to; return the goal if another one follows."""
        if goal.id in self._judging:
            return None
        self._judging.add(goal.id)
        try:
            return await self._decide(goal, ended)
        finally:
            self._judging.discard(goal.id)

    async def _decide(self, goal: Goal, ended: Ended) -> Goal | None:
        if goal.state != "active":
            await self._records.count(goal, ended)
            return None
        state, goal = await self._verdict(goal, ended)
        if state == "active":
            if await self._records.next(goal, ended) and (
                after := await self._records.get(goal.id)
            ):
                if after.kind == "goal" and not self._stopping:
                    await self.send(after)
                return after
            return None
        await self._records.stop(goal, ended, state)
        after = await self._records.get(goal.id)
        if after is not None and after.state == state:
            await self._report(after)
        return None

    async def _verdict(self, goal: Goal, ended: Ended) -> tuple[str, Goal]:
        """The state that the goal has after a turn, and the goal with what was counted."""
        if goal.message_id() in self._late:
            return "over", replace(
                goal, reason=f"It has used its {self._config.minutes:g} minutes."
            )
        if ended.stop == "stopped":
            return "paused", replace(goal, reason=OWN_STOP)
        if ended.stop == "question":
            return "blocked", replace(goal, reason="It has asked you something; answer it first.")
        if ended.stop not in ("done", "max_iterations"):
            used = replace(goal, turns=goal.turns + 1)
            state = "over" if wording.over(used, self._config) else "paused"
            return state, replace(goal, reason=f"The turn ended early: {ended.reply.strip()[:500]}")
        said = await judge(self._host, goal, ended.session_id, ended.reply)
        idle = 0 if ended.calls else goal.idle + 1
        unjudged = 0 if said.verdict else goal.unjudged + 1
        goal = replace(goal, idle=idle, unjudged=unjudged, reason=said.reason)
        if said.verdict in ("done", "blocked"):
            return said.verdict, goal
        now = await self._records.get(goal.id) or goal  # with what the judge has cost
        seconds = now.seconds + ended.seconds
        if spent := wording.over(replace(now, turns=now.turns + 1, seconds=seconds), self._config):
            return "over", replace(goal, reason=f"{spent} {said.reason}".strip())
        if unjudged >= UNJUDGED:
            return "paused", replace(goal, reason=f"{UNJUDGED} turns in a row: {said.reason}.")
        if idle >= IDLE:
            why = f"{IDLE} turns in a row did nothing but talk. {said.reason}"
            return "blocked", replace(goal, reason=why)
        return "active", goal

    async def _report(self, goal: Goal) -> None:
        """Hand a report to core, which stores and delivers it; the same one only once."""
        text = f"/goal report {goal.id}"
        await self._host.receive(goal.inbound(text, REPORT, self._host.now()))
        await self._records.tell(goal)

    # In the background

    async def start(self, goal: Goal, ctx: Context | None) -> None:
        """Work on a goal in the background; return when its session is stored."""
        await self.process.join()
        if goal.id in self._runs:
            return
        run = self._host.spawn(self._work_on(goal, ctx), f"goal {goal.id}")
        self._runs[goal.id] = run
        run.add_done_callback(lambda _: self._runs.pop(goal.id, None))
        with suppress(TimeoutError):
            async with asyncio.timeout(BEGUN):
                # It is core's write that is waited for.
                while not run.done() and not await self._said(goal):  # noqa: ASYNC110
                    await asyncio.sleep(0.02)

    async def _said(self, goal: Goal) -> list[Message]:
        """What is stored of the session of a background goal."""
        try:
            return await self._host.messages(goal.own_session)
        except LookupError:
            return []

    def cancel(self, goal: Goal) -> None:
        """End the run of a goal in this process."""
        if (run := self._runs.get(goal.id)) is not None:
            run.cancel()

    async def take_up(self, goal: Goal, ctx: Context | None = None) -> None:
        """Go on with what a dead process worked on; ``ctx`` is that of the command, come again."""
        if goal.id in self._runs or await self.process.lives(goal.process):
            return
        await self.process.join()
        if not await self._records.take(goal, self.process.id):
            return
        said = await self._said(goal)
        if not said and ctx is not None:
            await self.start(goal, ctx)
            return
        if not said:
            why = "The process died before it had begun; set it again."
            if await self._records.halt(goal, "paused", why, report=True):
                await self._report(await self._records.get(goal.id) or goal)
            return
        if _has_begun(said, wording.prompt(goal, self._config)):
            # Core finishes that turn as the next one begins.
            await self._records.skip(goal)
        if (after := await self._records.get(goal.id)) is not None:
            await self.start(after, None)

    async def _work_on(self, goal: Goal, ctx: Context | None) -> None:
        after: Goal | None = goal
        while after is not None and after.state == "active" and not self._stopping:
            after = await self._judged(after, await self._run(after, ctx))

    async def _run(self, goal: Goal, ctx: Context | None) -> Ended:
        loop = asyncio.get_running_loop()
        began, session = loop.time(), goal.own_session
        left = self._config.minutes * 60 - goal.seconds
        try:
            async with asyncio.timeout(max(left, 0.0)) as clock:
                turn = await self._host.run_turn(
                    wording.prompt(goal, self._config),
                    parent=ctx,
                    session_id=session,
                    kind="background",
                )
        except TimeoutError:
            if not clock.expired():
                raise
            self._late.add(goal.message_id())
            return Ended(session, "stopped", "", loop.time() - began)
        except HooklineError as error:
            return Ended(session, "error", str(error), loop.time() - began)
        return ended_by(turn, loop.time() - began)


def ended_by(turn: Turn, seconds: float) -> Ended:
    """What a turn came to."""
    denied = [one.call.name for one in turn.tool_calls if one.text.startswith("Denied: ")]
    calls = len(turn.tool_calls)
    return Ended(turn.session.id, turn.stop, turn.reply, seconds, calls, tuple(denied))


def _has_begun(messages: Sequence[Message], prompt: str) -> bool:
    return any(one.role == "user" and one.text.startswith(prompt[:200]) for one in messages)
