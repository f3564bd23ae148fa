"""Runs goals turn after turn: sends the next message, checks the answer, and reports.

A goal of a chat uses the chat's session. For each turn the plugin sends itself a message with the
id ``goal:ID:TURN`` on behalf of the owner. Core stores it, queues it behind messages of people,
shows its answer, resumes it after a crash and accepts a repeated one only once; guards check the
owner as for any message. A background goal has its own session, whose turns run like those of
scheduled jobs: no one can be asked. Reports are sent as the answer to ``/goal report ID``.
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

from . import goal_text
from .config import GoalsConfig
from .goal_check import check_goal
from .goal_store import Goal, GoalStore, GoalTurnResult, parse_message_id

REPORT = ":report"
MAX_IDLE_TURNS = 3
"""Turns in a row without a tool call, after which a goal waits for a person."""
MAX_UNCHECKED_TURNS = 3
"""A goal pauses after this many turns in a row without a verdict."""
SESSION_TIMEOUT = 30.0
"""Seconds to wait for the session of a background goal."""
STOPPED_BY_PERSON = "You stopped it."


class GoalRunner:
    """Runs the goals of one process."""

    needs_no_channel = False
    runs_turns = True

    def __init__(self, host: Host, config: GoalsConfig, goals: GoalStore) -> None:
        self._host, self._config, self._goals = host, config, goals
        self.process = ProcessLock(host.storage, host.services.get(Store))
        self._has_network = False
        self._is_stopping = False
        self._chat_session: str | None = None
        self._woken = asyncio.Event()
        self._check_task: asyncio.Task[None] | None = None
        self._judging: set[str] = set()
        self._running: dict[str, tuple[Goal, float]] = {}
        """Goals with a running turn, by message id, and its start by the event loop's clock."""
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._late: set[str] = set()
        self._runs: dict[str, asyncio.Task[None]] = {}

    # Start and end

    async def gateway_up(self, channels: Sequence[str]) -> None:
        """Work on goals of the network channels from now on."""
        self._has_network, self._is_stopping = True, False
        self._start_checking()

    def chat_is_open(self, session_id: str | None) -> None:
        """Work on goals of the terminal from now on: a person chats there, in this session."""
        self._chat_session = session_id
        self._start_checking()

    def _start_checking(self) -> None:
        if self._check_task is None:
            self.process.hold()
            self._check_task = self._host.spawn(self._check_loop(), "check goals")
        self._woken.set()

    async def gateway_stopping(self) -> None:
        """Start no more turns. The next process resumes those that are running."""
        self._has_network, self._is_stopping = False, True

    async def end(self) -> None:
        """Release the process's lock, so that another process takes over."""
        await self.process.leave()

    # Checking

    async def _check_loop(self) -> None:
        while True:
            self._woken.clear()
            try:
                await self.check()
            except HooklineError as error:
                self._host.log.warning("cannot check goals; will retry: %s", error)
            with suppress(TimeoutError):
                async with asyncio.timeout(self._config.look_every):
                    await self._woken.wait()

    async def check(self) -> None:
        """Send pending reports, and continue goals of dead processes."""
        if self._is_stopping:
            return
        for goal in await self._goals.unreported():
            if self._serves(goal):
                await self._report(goal)
        for goal in await self._goals.active():
            if not self._serves(goal):
                continue
            if goal.kind == "background":
                await self.resume_dead(goal)
            elif goal.message_id() not in self._running and goal.id not in self._judging:
                await self._send_or_settle(goal)

    def _serves(self, goal: Goal) -> bool:
        if goal.channel == TERMINAL:
            is_open = self._chat_session is not None
            if goal.kind == "background":
                return is_open and goal.workspace == self.workspace()
            return is_open and goal.address.get("session_id") == self._chat_session
        has_channel = any(channel.name == goal.channel for channel in self._host.channels())
        return self._has_network and has_channel

    def workspace(self) -> str:
        """Return the workspace of this process's terminal sessions."""
        return str(Path(self._host.config.workspace).expanduser().resolve())

    # In the chat

    async def send(self, goal: Goal) -> bool:
        """Send the message of a goal's turn; False if it was sent before."""
        text = goal_text.prompt(goal, self._config)
        return await self._host.receive(goal.inbound(text, "", self._host.now()))

    async def _send_or_settle(self, goal: Goal) -> None:
        if await self.send(goal):
            return
        ended = await self._goals.ended_turn(goal)
        if ended is not None:  # a process died between the end of the turn and the next message
            stop, session_id = ended
            await self._finish_turn(
                goal, GoalTurnResult(session_id, stop, await self._last_answer(session_id))
            )

    async def _last_answer(self, session_id: str) -> str:
        try:
            messages = await self._host.messages(session_id)
        except LookupError:
            return ""
        answers = (message.text for message in reversed(messages) if message.role == "assistant")
        return next(answers, "")

    async def turn_started(self, turn: Turn) -> None:
        """Start the timer if a turn belongs to a goal."""
        goal = await self.goal_of(turn.inbound)
        if goal is None:
            return
        loop, key = asyncio.get_running_loop(), turn.inbound.message_id
        self._running[key] = (goal, loop.time())
        left = self._config.minutes * 60 - goal.seconds
        self._timers[key] = loop.call_later(max(left, 0.0), self._time_is_up, turn.inbound)

    def _time_is_up(self, inbound: Inbound) -> None:
        self._late.add(inbound.message_id)
        self._host.spawn(self._host.services[Conversations].stop(inbound), "stop")

    async def goal_of(self, inbound: Inbound) -> Goal | None:
        """Return the goal whose turn a message starts; None for other messages."""
        found = parse_message_id(inbound.message_id)
        goal = await self._goals.get(found[0]) if found and not found[2] else None
        if goal is None or not goal.is_of(inbound) or goal.message_id() != inbound.message_id:
            return None
        return goal

    async def turn_ended(self, turn: Turn) -> None:
        """If a turn belongs to a goal, decide how the goal continues."""
        key = turn.inbound.message_id
        if (timer := self._timers.pop(key, None)) is not None:
            timer.cancel()
        _, since = self._running.get(key, (None, None))
        goal = await self.goal_of(turn.inbound)
        try:
            if goal is not None:
                now = asyncio.get_running_loop().time()
                await self._finish_turn(
                    goal, turn_result(turn, now - since if since is not None else 0.0)
                )
        finally:
            self._running.pop(key, None)
            self._late.discard(key)

    async def pause_refused(self, inbound: Inbound) -> None:
        """Pause a goal whose message a guard has refused."""
        goal = await self.goal_of(inbound)
        if goal is not None:
            why = f"Its owner {goal.user_id} no longer has access on {goal.channel}."
            await self._goals.halt(goal, "paused", why, report=False)

    # Deciding

    async def _finish_turn(self, goal: Goal, ended: GoalTurnResult) -> Goal | None:
        """Store how a turn ended; return the goal if another turn follows."""
        if goal.id in self._judging:
            return None
        self._judging.add(goal.id)
        try:
            return await self._decide(goal, ended)
        finally:
            self._judging.discard(goal.id)

    async def _decide(self, goal: Goal, ended: GoalTurnResult) -> Goal | None:
        if goal.state != "active":
            await self._goals.count(goal, ended)
            return None
        state, goal = await self._verdict(goal, ended)
        if state == "active":
            if await self._goals.next(goal, ended) and (after := await self._goals.get(goal.id)):
                if after.kind == "goal" and not self._is_stopping:
                    await self.send(after)
                return after
            return None
        await self._goals.stop(goal, ended, state)
        after = await self._goals.get(goal.id)
        if after is not None and after.state == state:
            await self._report(after)
        return None

    async def _verdict(self, goal: Goal, ended: GoalTurnResult) -> tuple[str, Goal]:
        """Return the goal's state after a turn, and the goal with updated counts."""
        if goal.message_id() in self._late:
            return "over", replace(
                goal, reason=f"It has used its {self._config.minutes:g} minutes."
            )
        if ended.stop == "stopped":
            return "paused", replace(goal, reason=STOPPED_BY_PERSON)
        if ended.stop == "question":
            return "blocked", replace(goal, reason="It has a question for you; answer it first.")
        if ended.stop not in ("done", "max_iterations"):
            used = replace(goal, turns=goal.turns + 1)
            state = "over" if goal_text.over(used, self._config) else "paused"
            return state, replace(goal, reason=f"The turn ended early: {ended.reply.strip()[:500]}")
        check = await check_goal(self._host, goal, ended.session_id, ended.reply)
        idle = 0 if ended.calls else goal.idle + 1
        unchecked = 0 if check.verdict else goal.unjudged + 1
        goal = replace(goal, idle=idle, unjudged=unchecked, reason=check.reason)
        if check.verdict in ("done", "blocked"):
            return check.verdict, goal
        now = await self._goals.get(goal.id) or goal  # with the cost of the check
        seconds = now.seconds + ended.seconds
        if spent := goal_text.over(
            replace(now, turns=now.turns + 1, seconds=seconds), self._config
        ):
            return "over", replace(goal, reason=f"{spent} {check.reason}".strip())
        if unchecked >= MAX_UNCHECKED_TURNS:
            why = f"{MAX_UNCHECKED_TURNS} turns in a row: {check.reason}."
            return "paused", replace(goal, reason=why)
        if idle >= MAX_IDLE_TURNS:
            why = f"{MAX_IDLE_TURNS} turns in a row without a tool call. {check.reason}"
            return "blocked", replace(goal, reason=why)
        return "active", goal

    async def _report(self, goal: Goal) -> None:
        """Pass a report to core, which stores it and delivers it once."""
        text = f"/goal report {goal.id}"
        await self._host.receive(goal.inbound(text, REPORT, self._host.now()))
        await self._goals.mark_reported(goal)

    # In the background

    async def start(self, goal: Goal, ctx: Context | None) -> None:
        """Start a background goal; return once its session is stored."""
        await self.process.join()
        if goal.id in self._runs:
            return
        run = self._host.spawn(self._work_on(goal, ctx), f"goal {goal.id}")
        self._runs[goal.id] = run
        run.add_done_callback(lambda _: self._runs.pop(goal.id, None))
        with suppress(TimeoutError):
            async with asyncio.timeout(SESSION_TIMEOUT):
                # Core stores it, and has no event for that.
                while not run.done() and not await self._session_messages(goal):  # noqa: ASYNC110
                    await asyncio.sleep(0.02)

    async def _session_messages(self, goal: Goal) -> list[Message]:
        """Return the stored messages of a background goal's session."""
        try:
            return await self._host.messages(goal.own_session)
        except LookupError:
            return []

    def cancel(self, goal: Goal) -> None:
        """End the run of a goal in this process."""
        if (run := self._runs.get(goal.id)) is not None:
            run.cancel()

    async def resume_dead(self, goal: Goal, ctx: Context | None = None) -> None:
        """Continue a goal of a dead process; ``ctx`` is that of a repeated command."""
        if goal.id in self._runs or await self.process.lives(goal.process):
            return
        await self.process.join()
        if not await self._goals.take(goal, self.process.id):
            return
        messages = await self._session_messages(goal)
        if not messages and ctx is not None:
            await self.start(goal, ctx)
            return
        if not messages:
            why = "The process died before it started; set it again."
            if await self._goals.halt(goal, "paused", why, report=True):
                await self._report(await self._goals.get(goal.id) or goal)
            return
        if _has_begun(messages, goal_text.prompt(goal, self._config)):
            # Core finishes that turn as the next one begins.
            await self._goals.skip(goal)
        if (after := await self._goals.get(goal.id)) is not None:
            await self.start(after, None)

    async def _work_on(self, goal: Goal, ctx: Context | None) -> None:
        after: Goal | None = goal
        while after is not None and after.state == "active" and not self._is_stopping:
            after = await self._finish_turn(after, await self._run(after, ctx))

    async def _run(self, goal: Goal, ctx: Context | None) -> GoalTurnResult:
        loop = asyncio.get_running_loop()
        began, session = loop.time(), goal.own_session
        left = self._config.minutes * 60 - goal.seconds
        try:
            async with asyncio.timeout(max(left, 0.0)) as clock:
                turn = await self._host.run_turn(
                    goal_text.prompt(goal, self._config),
                    parent=ctx,
                    session_id=session,
                    kind="background",
                )
        except TimeoutError:
            if not clock.expired():
                raise
            self._late.add(goal.message_id())
            return GoalTurnResult(session, "stopped", "", loop.time() - began)
        except HooklineError as error:
            return GoalTurnResult(session, "error", str(error), loop.time() - began)
        return turn_result(turn, loop.time() - began)


def turn_result(turn: Turn, seconds: float) -> GoalTurnResult:
    """Return the result of a turn."""
    denied = [r.call.name for r in turn.tool_calls if r.text.startswith("Denied: ")]
    calls = len(turn.tool_calls)
    return GoalTurnResult(turn.session.id, turn.stop, turn.reply, seconds, calls, tuple(denied))


def _has_begun(messages: Sequence[Message], prompt: str) -> bool:
    start = prompt[:200]
    return any(m.role == "user" and m.text.startswith(start) for m in messages)
