"""The plugin: ``/goal``, ``/background``, and the hooks that enforce the budget."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any

from hookline_hookspecs import (
    Context,
    Denial,
    GatewayService,
    Host,
    Inbound,
    ModelRequest,
    ModelResponse,
    OverBudget,
    Plugin,
    Session,
    Turn,
    Usage,
    command,
    hookimpl,
)
from hookline_hookspecs.channels import TERMINAL
from hookline_hookspecs.prices import Prices
from hookline_hookspecs.sentences import N_

from . import goal_text
from .config import GoalsConfig
from .goal_runner import REPORT, STOPPED_BY_PERSON, GoalRunner
from .goal_store import ADDRESS, Goal, GoalStore, id_for, parse_message_id

Call = Callable[[ModelRequest], Awaitable[ModelResponse]]
MAX_GOAL_CHARS = 4000
MAX_TRACKED_SESSIONS = 4096
"""Sessions whose goal is remembered."""


class Goals(Plugin[GoalsConfig]):
    """Stores goals and works on them."""

    @hookimpl
    def setup(self, host: Host) -> None:
        """Connect to the signals that show that this process is long-running."""
        self._sessions: OrderedDict[str, str] = OrderedDict()
        """The goal of each session with a running turn, and of its sub-agents."""
        self.goals = GoalStore(host.storage)
        self.runner = GoalRunner(host, self.config, self.goals)
        host.services.add(GatewayService, self.runner)
        host.signals.connect("on_message", self._on_message)
        host.signals.connect("settled", self._on_settled)
        host.signals.connect("denied", self._on_denied)

    @hookimpl
    async def teardown(self, host: Host) -> None:
        """Release the lock, so that another process takes over."""
        await self.runner.end()

    # Commands

    @command("/goal", audience="everyone", immediate=True, category="People and schedule")
    async def goal(self, ctx: Context, args: str) -> str:
        """Work on a goal until it is reached: /goal TEXT. /goal shows it; pause, resume, clear."""
        inbound = ctx.turn.inbound
        if (report := await self._requested_report(inbound, args)) is not None:
            return report
        word, _, rest = args.strip().partition(" ")
        action = word.casefold()
        actions = {"pause": self._pause, "resume": self._resume, "clear": self._clear}
        if action in actions and len(rest.split()) <= 1:
            return await self._act(ctx, actions[action], rest.strip().casefold())
        if not args.strip() or (action == "status" and not rest):
            return await self._list(inbound)
        return await self._set(ctx, "goal", args.strip())

    # Not immediate: it needs the chat's session, which a message before it may open.
    @command("/background", audience="everyone", category="People and schedule")
    async def background(self, ctx: Context, args: str) -> str:
        """Work on a goal in the background and report at the end: /background TEXT."""
        if not args.strip():
            return await self._list(ctx.turn.inbound)
        return await self._set(ctx, "background", args.strip())

    async def _set(self, ctx: Context, kind: str, text: str) -> str:
        inbound = ctx.turn.inbound
        if len(text) > MAX_GOAL_CHARS:
            return N_(f"The goal has {len(text):,} characters; the limit is {MAX_GOAL_CHARS:,}.")
        if self.config.dollars is not None and not _is_priced(ctx):
            return N_(
                f"The price of {ctx.model} is unknown, so the limit of "
                f"{self.config.dollars:g} dollars cannot be enforced. Set plugins.goals.dollars to "
                f"null, or add the price (hookline prices)."
            )
        await self.runner.process.join()
        goal = self._new(ctx, kind, text)
        limit = 1 if kind == "goal" else self.config.background
        if not await self.goals.add(goal, self.host.now(), limit):
            known = await self.goals.get(goal.id)
            if known is None:
                return await self._full(inbound, kind)
            goal = known  # a process died while handling this very message
            if goal.state != "active":
                return goal_text.line(goal, self.config)
            if kind == "background":
                await self.runner.resume_dead(goal, ctx)
        elif kind == "background":
            await self.runner.start(goal, ctx)
        # `hookline run` ends after its answer; unlike the chat, it does not set `private`.
        ends = inbound.channel == TERMINAL and not inbound.private
        if kind == "goal" and not ends and (inbound.channel != TERMINAL or inbound.session_id):
            await self.runner.send(goal)
        return goal_text.accepted(goal, self.config, ends=ends)

    def _new(self, ctx: Context, kind: str, text: str) -> Goal:
        inbound, session = ctx.turn.inbound, ctx.session
        address = {name: getattr(inbound, name) for name in ADDRESS}
        return Goal(
            id=id_for(inbound),
            kind=kind,
            channel=session.channel,
            chat_id=session.chat_id,
            user_id=inbound.user_id,
            address=address,
            session_id=session.id if kind == "goal" else f"background-{id_for(inbound)}",
            workspace=self.runner.workspace() if session.channel == TERMINAL else "",
            goal=text,
            state="active",
            reason="",
            round=1,
            turns=0,
            tokens=0,
            dollars=0.0,
            seconds=0.0,
            idle=0,
            unjudged=0,
            denied=(),
            answer="",
            process=self.runner.process.id,
        )

    async def _full(self, inbound: Inbound, kind: str) -> str:
        if kind == "background":
            return N_(
                f"The limit of background goals in this chat is {self.config.background}. Wait for "
                f"one to end, or clear one with /goal clear ID."
            )
        open_ = [goal for goal in await self.goals.of_chat(inbound) if _is_open(goal)]
        shown = f"\n{goal_text.line(open_[0], self.config)}" if open_ else ""
        return f"{N_('This chat already has a goal; /goal clear ends it.')}{shown}"

    async def _list(self, inbound: Inbound) -> str:
        found = await self.goals.of_chat(inbound)
        shown = [goal for goal in found if _is_open(goal)] or found[:1]
        if not shown:
            return f"{N_('This chat has no goal.')}\n{goal_text.USAGE}"
        lines = []
        for goal in shown:
            is_alone = goal.kind == "background" and goal.state == "active"
            is_alone = is_alone and not await self.runner.process.lives(goal.process)
            lines.append(goal_text.line(goal, self.config, is_alone=is_alone))
        return "\n".join(lines)

    async def _act(self, ctx: Context, act: Callable[..., Awaitable[str]], id_: str) -> str:
        """Act on the goal with this id; without an id, on the chat's own."""
        found = await self.goals.of_chat(ctx.turn.inbound)
        if id_:
            found = [goal for goal in found if goal.id == id_]
        else:
            open_ = [goal for goal in found if _is_open(goal)]
            found = [goal for goal in open_ if goal.kind == "goal"] or open_
        if not found:
            return N_("This chat has no such goal; /goal lists them.")
        if not id_ and len(found) > 1:
            lines = [goal_text.line(goal, self.config) for goal in found]
            return "\n".join([N_("Which one? Give its id:"), *lines])
        return await act(ctx, found[0])

    async def _pause(self, ctx: Context, goal: Goal) -> str:
        if not await self.goals.halt(goal, "paused", N_("You paused it."), report=False):
            return f"{goal_text.name(goal)} · {goal_text.STATES[goal.state]}"
        self.runner.cancel(goal)
        after = N_("A running turn finishes first; /stop ends it now.")
        return f"{goal_text.name(goal)} · {N_('paused')}\n{after}"

    async def _resume(self, ctx: Context, goal: Goal) -> str:
        await self.runner.process.join()
        process, session = self.runner.process.id, ctx.session.id or goal.session_id
        session = session if goal.kind == "goal" else goal.session_id
        if not await self.goals.resume(goal, process, session):
            return f"{goal_text.name(goal)} · {goal_text.STATES[goal.state]}"
        after = await self.goals.get(goal.id) or goal
        if goal.kind == "background":
            await self.runner.start(after, ctx if ctx.session.id else None)
        else:
            await self.runner.send(after)
        return f"{goal_text.name(goal)} · {N_('active again')}"

    async def _clear(self, ctx: Context, goal: Goal) -> str:
        if not await self.goals.clear(goal, N_("You cleared it.")):
            return f"{goal_text.name(goal)} · {goal_text.STATES[goal.state]}"
        self.runner.cancel(goal)
        after = N_("A running turn finishes first.")
        return f"{goal_text.name(goal)} · {N_('ended')}\n{after}"

    async def _requested_report(self, inbound: Inbound, args: str) -> str | None:
        """Return the report that the plugin has sent itself a message for; else None."""
        found = parse_message_id(inbound.message_id)
        if found is None or f":{found[2]}" != REPORT or args.split() != ["report", found[0]]:
            return None
        goal = await self.goals.get(found[0])
        return goal_text.report(goal) if goal is not None and goal.is_of(inbound) else ""

    # Signals and hooks

    def _on_message(self, inbound: Inbound, ctx: Any = None) -> None:
        if inbound.text.strip().casefold() == "/stop":
            self.host.spawn(self._stop(inbound), "stop")

    async def _stop(self, inbound: Inbound) -> None:
        """Pause the chat's goal after ``/stop``, also between two turns."""
        for goal in await self.goals.of_chat(inbound):
            if goal.kind == "goal":
                await self.goals.halt(goal, "paused", STOPPED_BY_PERSON, report=False)

    def _on_settled(self, inbound: Inbound, ctx: Any = None) -> None:
        if inbound.channel == TERMINAL:
            self.runner.chat_is_open(inbound.session_id)

    def _on_denied(self, denial: Denial, ctx: Any = None) -> None:
        if denial.hook == "on_message" and parse_message_id(
            getattr(denial.event, "message_id", "")
        ):
            self.host.spawn(self.runner.pause_refused(denial.event), "refused")

    @hookimpl
    async def start_of_session(self, ctx: Context, session: Session) -> None:
        """Note that a sub-agent works for the goal of its parent."""
        if session.parent_id is not None and session.parent_id in self._sessions:
            self._work_for(session.id, self._sessions[session.parent_id])
        if session.kind == "background" and session.id.startswith("background-"):
            self._work_for(session.id, session.id.removeprefix("background-"))

    @hookimpl
    async def end_of_session(self, ctx: Context, session: Session) -> None:
        """Pause a goal whose conversation has ended."""
        where = Inbound(session.channel, session.chat_id, "", "", "")
        for goal in await self.goals.of_chat(where) if session.kind == "chat" else ():
            if goal.kind == "goal" and goal.session_id == session.id:
                why = "Its conversation has ended; /goal resume continues it in the new one."
                await self.goals.halt(goal, "paused", why, report=False)

    @hookimpl
    async def start_of_turn(self, ctx: Context, turn: Turn) -> None:
        """Start the timer of a goal's turn, and count its tokens from now on."""
        if parse_message_id(turn.inbound.message_id):
            await self.runner.turn_started(turn)
            if (goal := await self.runner.goal_of(turn.inbound)) is not None:
                self._work_for(turn.session.id, goal.id)
        elif turn.session.kind == "chat":
            self._sessions.pop(turn.session.id, None)

    @hookimpl
    async def end_of_turn(self, ctx: Context, turn: Turn) -> None:
        """Decide how a goal continues after its turn."""
        if parse_message_id(turn.inbound.message_id) and turn.session.kind == "chat":
            await self.runner.turn_ended(turn)

    def _work_for(self, session_id: str, goal_id: str) -> None:
        self._sessions[session_id] = goal_id
        self._sessions.move_to_end(session_id)
        while len(self._sessions) > MAX_TRACKED_SESSIONS:
            self._sessions.popitem(last=False)

    # The budget

    @hookimpl(tryfirst=True)
    def around_model(
        self, ctx: Context, request: ModelRequest
    ) -> Callable[[ModelRequest, Call], Awaitable[ModelResponse]] | None:
        """Refuse a model call of a goal whose budget is used up, and count the others."""
        id_ = self._sessions.get(ctx.session.id)
        if id_ is None:
            return None

        async def within_budget(request: ModelRequest, call_next: Call) -> ModelResponse:
            goal = await self.goals.get(id_)
            if goal is not None and request.purpose == "turn" and (spent := self._spent(goal)):
                raise OverBudget(f"{goal_text.name(goal)} has used up its budget. {spent}")
            response = await call_next(request)
            cost = Prices.of(self.host).cost(response.model, response.usage) or 0.0
            await self.goals.spend(id_, response.usage, cost)
            return response

        return within_budget

    def _spent(self, goal: Goal) -> str:
        """Return which budget is used up in a turn; turns and minutes are checked between turns."""
        if self.config.dollars is not None and goal.dollars >= self.config.dollars:
            return goal_text.over(goal, self.config)
        return goal_text.over(goal, self.config) if goal.tokens >= self.config.tokens else ""


def _is_open(goal: Goal) -> bool:
    return goal.state not in ("done", "cleared")


def _is_priced(ctx: Context) -> bool:
    return Prices.of(ctx.host).cost(ctx.model, Usage()) is not None
