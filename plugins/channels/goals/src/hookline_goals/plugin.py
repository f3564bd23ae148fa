"""The plugin: ``/goal``, ``/background``, and the hooks that count what goals use."""

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

from . import wording
from .config import GoalsConfig
from .records import ADDRESS, Goal, Records, id_for, named
from .service import OWN_STOP, REPORT, Service

Call = Callable[[ModelRequest], Awaitable[ModelResponse]]
LONGEST = 4000
"""Characters of a goal."""
MOST = 4096
"""Sessions of sub-agents that are known to work for a goal."""


class Goals(Plugin[GoalsConfig]):
    """Keeps goals, and works on them."""

    @hookimpl
    def setup(self, host: Host) -> None:
        """Subscribe to what shows that this process is long-running."""
        self._sessions: OrderedDict[str, str] = OrderedDict()
        """The goals that sessions work for: of turns under way, and of their sub-agents."""
        self.records = Records(host.storage)
        self.service = Service(host, self.config, self.records)
        host.services.add(GatewayService, self.service)
        host.signals.connect("on_message", self._heard)
        host.signals.connect("settled", self._settled)
        host.signals.connect("denied", self._denied)

    @hookimpl
    async def teardown(self, host: Host) -> None:
        """Release the lock: the next process goes on."""
        await self.service.end()

    # Commands

    @command("/goal", audience="everyone", immediate=True, category="People and schedule")
    async def goal(self, ctx: Context, args: str) -> str:
        """Work on a goal turn after turn: /goal TEXT; /goal shows it; pause, resume, clear."""
        inbound = ctx.turn.inbound
        if (told := await self._told(inbound, args)) is not None:
            return told
        word, _, rest = args.strip().partition(" ")
        action = word.casefold()
        actions = {"pause": self._pause, "resume": self._resume, "clear": self._clear}
        if action in actions and len(rest.split()) <= 1:
            return await self._act(ctx, actions[action], rest.strip().casefold())
        if not args.strip() or (action == "status" and not rest):
            return await self._list(inbound)
        return await self._set(ctx, "goal", args.strip())

    # Not immediate: it needs the chat's session, which a message may be about to begin.
    @command("/background", audience="everyone", category="People and schedule")
    async def background(self, ctx: Context, args: str) -> str:
        """Work on a goal beside the chat, and report: /background TEXT."""
        if not args.strip():
            return await self._list(ctx.turn.inbound)
        return await self._set(ctx, "background", args.strip())

    async def _set(self, ctx: Context, kind: str, text: str) -> str:
        inbound = ctx.turn.inbound
        if len(text) > LONGEST:
            return f"The goal has {len(text):,} of at most {LONGEST:,} characters."
        if self.config.dollars is not None and not _is_priced(ctx):
            return (
                f"The price of {ctx.model} is unknown, so its goals cannot be held to "
                f"{self.config.dollars:g} dollars; set plugins.goals.dollars to null, or teach the "
                f"price (hookline prices)."
            )
        await self.service.process.join()
        goal = self._new(ctx, kind, text)
        most = 1 if kind == "goal" else self.config.background
        if not await self.records.add(goal, self.host.now(), most):
            known = await self.records.get(goal.id)
            if known is None:
                return await self._full(inbound, kind)
            goal = known  # a process died over this very message
            if goal.state != "active":
                return wording.line(goal, self.config)
            if kind == "background":
                await self.service.take_up(goal, ctx)
        elif kind == "background":
            await self.service.start(goal, ctx)
        # `hookline run` ends after its answer; a chat's messages say that they are private.
        ends = inbound.channel == TERMINAL and not inbound.private
        if kind == "goal" and not ends and (inbound.channel != TERMINAL or inbound.session_id):
            await self.service.send(goal)
        return wording.accepted(goal, self.config, ends=ends)

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
            workspace=self.service.workspace() if session.channel == TERMINAL else "",
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
            process=self.service.process.id,
        )

    async def _full(self, inbound: Inbound, kind: str) -> str:
        if kind == "background":
            return (
                f"{self.config.background} goals of this chat run in the background, as many as "
                f"may; wait for one, or give one up with /goal clear ID."
            )
        open_ = [one for one in await self.records.of(inbound) if _is_open(one)]
        shown = f"\n{wording.line(open_[0], self.config)}" if open_ else ""
        return f"This chat has a goal already; /goal clear gives it up.{shown}"

    async def _list(self, inbound: Inbound) -> str:
        found = await self.records.of(inbound)
        shown = [one for one in found if one.state not in ("done", "cleared")] or found[:1]
        if not shown:
            return f"There is no goal here.\n{wording.USAGE}"
        lines = []
        for one in shown:
            is_alone = one.kind == "background" and one.state == "active"
            is_alone = is_alone and not await self.service.process.lives(one.process)
            lines.append(wording.line(one, self.config, is_alone=is_alone))
        return "\n".join(lines)

    async def _act(self, ctx: Context, act: Callable[..., Awaitable[str]], id_: str) -> str:
        """Find the goal that is meant: the chat's own without an id."""
        found = await self.records.of(ctx.turn.inbound)
        if id_:
            found = [one for one in found if one.id == id_]
        else:
            open_ = [one for one in found if _is_open(one)]
            found = [one for one in open_ if one.kind == "goal"] or open_
        if not found:
            return "There is no such goal here; /goal shows those there are."
        if not id_ and len(found) > 1:
            return "Which one? Give its id:\n" + "\n".join(
                wording.line(one, self.config) for one in found
            )
        return await act(ctx, found[0])

    async def _pause(self, ctx: Context, goal: Goal) -> str:
        if not await self.records.halt(goal, "paused", "You paused it.", report=False):
            return f"{wording.name(goal)} {wording.STATES[goal.state]}."
        self.service.cancel(goal)
        return (
            f"{wording.name(goal)} is paused; a turn under way goes on to its end. /stop ends it."
        )

    async def _resume(self, ctx: Context, goal: Goal) -> str:
        await self.service.process.join()
        process, session = self.service.process.id, ctx.session.id or goal.session_id
        session = session if goal.kind == "goal" else goal.session_id
        if not await self.records.resume(goal, process, session):
            return f"{wording.name(goal)} {wording.STATES[goal.state]}."
        after = await self.records.get(goal.id) or goal
        if goal.kind == "background":
            await self.service.start(after, ctx if ctx.session.id else None)
        else:
            await self.service.send(after)
        return f"{wording.name(goal)} goes on."

    async def _clear(self, ctx: Context, goal: Goal) -> str:
        if not await self.records.clear(goal, "You gave it up."):
            return f"{wording.name(goal)} {wording.STATES[goal.state]}."
        self.service.cancel(goal)
        return f"{wording.name(goal)} is given up; a turn under way goes on to its end."

    async def _told(self, inbound: Inbound, args: str) -> str | None:
        """The report that the plugin has sent itself for; None for a person's own command."""
        found = named(inbound.message_id)
        if found is None or f":{found[2]}" != REPORT or args.split() != ["report", found[0]]:
            return None
        goal = await self.records.get(found[0])
        return wording.report(goal) if goal is not None and goal.is_of(inbound) else ""

    # What happens in the chat

    def _heard(self, inbound: Inbound, ctx: Any = None) -> None:
        if inbound.text.strip().casefold() == "/stop":
            self.host.spawn(self._stop(inbound), "stop")

    async def _stop(self, inbound: Inbound) -> None:
        """``/stop`` pauses the chat's goal, also between two turns."""
        for goal in await self.records.of(inbound):
            if goal.kind == "goal":
                await self.records.halt(goal, "paused", OWN_STOP, report=False)

    def _settled(self, inbound: Inbound, ctx: Any = None) -> None:
        if inbound.channel == TERMINAL:
            self.service.chat_is_open(inbound.session_id)

    def _denied(self, denial: Denial, ctx: Any = None) -> None:
        if denial.hook == "on_message" and named(getattr(denial.event, "message_id", "")):
            self.host.spawn(self.service.refused(denial.event), "refused")

    @hookimpl
    async def start_of_session(self, ctx: Context, session: Session) -> None:
        """A sub-agent works for the goal of its parent."""
        if session.parent_id is not None and session.parent_id in self._sessions:
            self._work_for(session.id, self._sessions[session.parent_id])
        if session.kind == "background" and session.id.startswith("background-"):
            self._work_for(session.id, session.id.removeprefix("background-"))

    @hookimpl
    async def end_of_session(self, ctx: Context, session: Session) -> None:
        """The conversation of a goal has ended, so the goal waits."""
        where = Inbound(session.channel, session.chat_id, "", "", "")
        for goal in await self.records.of(where) if session.kind == "chat" else ():
            if goal.kind == "goal" and goal.session_id == session.id:
                why = "Its conversation was ended; /goal resume goes on in the new one."
                await self.records.halt(goal, "paused", why, report=False)

    @hookimpl
    async def start_of_turn(self, ctx: Context, turn: Turn) -> None:
        """A goal's turn begins: its time runs, and its tokens count."""
        if named(turn.inbound.message_id):
            await self.service.begun(turn)
            if (goal := await self.service.goal_of(turn.inbound)) is not None:
                self._work_for(turn.session.id, goal.id)
        elif turn.session.kind == "chat":
            self._sessions.pop(turn.session.id, None)

    @hookimpl
    async def end_of_turn(self, ctx: Context, turn: Turn) -> None:
        """A goal's turn is over and its answer is delivered: decide how it goes on."""
        if named(turn.inbound.message_id) and turn.session.kind == "chat":
            await self.service.ended(turn)

    def _work_for(self, session_id: str, goal_id: str) -> None:
        self._sessions[session_id] = goal_id
        self._sessions.move_to_end(session_id)
        while len(self._sessions) > MOST:
            self._sessions.popitem(last=False)

    # The budget

    @hookimpl(tryfirst=True)
    def around_model(
        self, ctx: Context, request: ModelRequest
    ) -> Callable[[ModelRequest, Call], Awaitable[ModelResponse]] | None:
        """Refuse a call of a goal whose budget is used up, and count the others."""
        id_ = self._sessions.get(ctx.session.id)
        if id_ is None:
            return None

        async def within(asked: ModelRequest, call_next: Call) -> ModelResponse:
            goal = await self.records.get(id_)
            if goal is not None and request.purpose == "turn" and (spent := self._spent(goal)):
                raise OverBudget(f"{wording.name(goal)} has used up its budget. {spent}")
            response = await call_next(asked)
            cost = Prices.of(self.host).cost(response.model, response.usage) or 0.0
            await self.records.spend(id_, response.usage, cost)
            return response

        return within

    def _spent(self, goal: Goal) -> str:
        """Which budget is used up within a turn; turns and minutes are looked at between turns."""
        if self.config.dollars is not None and goal.dollars >= self.config.dollars:
            return wording.over(goal, self.config)
        return wording.over(goal, self.config) if goal.tokens >= self.config.tokens else ""


def _is_open(goal: Goal) -> bool:
    return goal.state not in ("done", "cleared")


def _is_priced(ctx: Context) -> bool:
    return Prices.of(ctx.host).cost(ctx.model, Usage()) is not None
