"""Hookline plugin ``review``: learns from conversations in the background.

Reached by the entry point ``hookline_review:Review``. Reviewers (``register_reviewers``) decide
what is learnt and when: this plugin counts turns, forks the session when one of them is due, and
restricts the fork to their tools. :mod:`.counts` does the counting, :mod:`.records` the storing;
:mod:`.trace` and :mod:`.prompt` write what a review is asked.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from hookline_hookspecs import (
    Context,
    Deny,
    HooklineError,
    Host,
    Inspection,
    Job,
    Message,
    ModelRequest,
    ModelResponse,
    Modes,
    Plugin,
    Reply,
    Reviewer,
    Session,
    TextBlock,
    ToolCall,
    Turn,
    hookimpl,
)
from pydantic import BaseModel, Field

from .counts import Counts
from .prompt import PROPOSED, calls_of, last_words, prompt, tools_of
from .records import Due, Records
from .trace import trace_lines

__all__ = ["Review", "ReviewConfig"]
KIND = "review"
DAY = 86_400.0
COMPACTION_SECONDS = 100.0
"""How long a compaction waits for a review; core gives ``pre_compact`` 120 s."""


class ReviewConfig(BaseModel):
    """What a review may cost."""

    timeout: float = Field(default=300.0, gt=0, description="Seconds for one review.")
    keep_days: float = Field(
        default=7.0,
        ge=0,
        description="Days for which reviews and the counts of idle sessions are kept.",
    )


@dataclass(slots=True)
class _UnderWay:
    """A running review: the tools it may call, and how many calls are left."""

    tools: frozenset[str]
    left: int


class Review(Plugin[ReviewConfig]):
    """Runs the reviewers that plugins register."""

    preserves_streaming = True

    def __init__(self, config: ReviewConfig, host: Host) -> None:
        super().__init__(config, host)
        self._records = Records(host, config.timeout + 60)
        self._under_way: dict[str, _UnderWay] = {}

    # When

    @hookimpl
    async def teardown(self, host: Host) -> None:
        """Store what was counted, and release this process's lock."""
        await self._records.flush()
        self._records.process.release()

    @hookimpl
    def start_of_session(self, ctx: Context, session: Session) -> None:
        """Begin to count in a new session."""
        if session.kind == "chat" and not session.resumed:
            self._records.begin(session.id)

    @hookimpl
    async def pre_reply(self, ctx: Context, reply: Reply) -> None:
        """Count the turn before its reply is sent: afterwards the process may end at any time."""
        if ctx.session.kind == "chat":
            try:
                await self._count(ctx, ctx.turn)
            except HooklineError as error:
                self.log.warning("turn %s is not counted yet: %s", ctx.turn.id, error)

    @hookimpl(trylast=True)
    async def end_of_turn(self, ctx: Context, turn: Turn) -> None:
        """Run the reviews that are due: this session's, and those that earlier processes left.

        It may take a minute: a title, the index of what was said and a goal's next turn come first.
        """
        if turn.session.kind != "chat":
            return
        if not ctx.stash.get("counted"):
            await self._count(ctx, turn)
        due = turn.stop != "budget" and self._records.may_be_due
        if due and not await self._waits(turn.session.id):
            await self._work_off()

    async def _count(self, ctx: Context, turn: Turn) -> None:
        """Count the turn and store the review, if one becomes due."""
        reviewers = self._reviewers
        writing = self._writing
        agreed = {one.name for one in reviewers if one.due is not None and await _agrees(one, ctx)}
        lines, model, now = trace_lines(turn.tool_calls), ctx.model, self.host.now()

        def add(counts: Counts) -> None:
            counts.add(turn, reviewers, agreed, writing, lines)
            counts.model, counts.at = model, now

        counts = await self._records.count(turn.session.id, add)
        due = any(counts.reached(one) and _runs_now(one, agreed) for one in reviewers)
        if due and turn.stop != "budget" and not await self._waits(turn.session.id):
            await self._records.put(turn.session, reviewers)
        ctx.stash["counted"] = True

    @hookimpl
    async def end_of_session(self, ctx: Context, session: Session) -> None:
        """Make a review of the session due, if enough was said in it; the next end of a turn runs
        it."""
        if session.kind != "chat":
            return
        await self._put_at_end(session)

    @hookimpl
    async def pre_compact(self, ctx: Context, session: Session) -> None:
        """Review a history before it is compacted: the summary may lose what is worth keeping."""
        if session.kind != "chat":
            return
        if not await self._put_at_end(session):
            return
        try:
            async with asyncio.timeout(COMPACTION_SECONDS):
                await self._work_off(session.id)
        except TimeoutError:
            self.log.warning("the review before the compaction took too long and was put off")

    async def _put_at_end(self, session: Session) -> bool:
        counts, reviewers = await self._records.counts(session.id), self._reviewers
        reached = any(counts.reached_at_end(one) for one in reviewers)
        if reached and await self._waits(session.id):
            return False
        if reached:
            await self._records.put(session, reviewers)
        return reached

    async def _waits(self, session_id: str) -> bool:
        """True in a mode in which nothing is written that nobody sees; what is counted stays."""
        modes = self.host.services.get(Modes)
        return modes is not None and await modes.get(session_id) in ("ask", "plan")

    @hookimpl
    def register_jobs(self, register: Callable[[Job], None]) -> None:
        """Delete the sessions of old reviews."""
        register(Job("forget", self.forget, every=DAY))

    @property
    def _reviewers(self) -> list[Reviewer]:
        return [reviewer for _plugin, reviewer in self.host.registered(Reviewer)]

    @property
    def _writing(self) -> frozenset[str]:
        return frozenset(tool.name for tool in self.host.tools() if not tool.read_only)

    # What

    async def _work_off(self, only: str | None = None) -> None:
        """Run the reviews that are due, not under way in any process, and need not wait."""
        try:
            while (due := await self._records.claim(self._waits, only)) is not None:
                await self._review(due)
        except HooklineError as error:
            self.log.warning("reviews are put off: %s", error)

    async def _review(self, due: Due) -> None:
        """Run one review. A cancelled one is left for the next process, one that failed is tried
        once more after a while."""
        session_id = due.session.id
        reviewers = [one for one in self._reviewers if one.name in due.reviewers]
        try:
            async with asyncio.timeout(self.config.timeout):
                await self._ask(due, [one for one in reviewers if one.instruction])
                await self._run_by_themselves(due.session, reviewers)
        except asyncio.CancelledError:
            await self._records.release(due)
            raise
        except (HooklineError, LookupError, TimeoutError) as error:
            reason = str(error) or "it took too long"
            self.log.warning("the review of session %s failed: %s", session_id, reason)
            await self._records.failed(due)
        else:
            await self._records.done(due)

    async def _ask(self, due: Due, reviewers: Sequence[Reviewer]) -> None:
        """Ask a copy of the session; it may call the reviewers' tools."""
        if not reviewers:
            return
        session_id = due.session.id
        allowed = frozenset(tools_of(reviewers))
        self._under_way[session_id] = _UnderWay(allowed, calls_of(reviewers))
        try:
            text = prompt(reviewers, due.trace)
            if await self._has_read_from_outside(session_id):
                text = f"{text}\n\n{PROPOSED}"
            turn = await self.host.fork(
                session_id, text, model=due.model, kind=KIND, max_iterations=calls_of(reviewers)
            )
        finally:
            del self._under_way[session_id]
        if turn.stop in ("error", "budget"):
            raise HooklineError(turn.reply)
        done = [result.call.name for result in turn.tool_calls if result.ok]
        self.log.info(
            "review of session %s: %s; calls: %s; %d tokens read from the cache of %d",
            session_id,
            turn.reply.strip().partition("\n")[0][:200],
            ", ".join(done) or "none",
            turn.usage.cache_read,
            turn.usage.input,
        )

    async def _has_read_from_outside(self, session_id: str) -> bool:
        return any(_is_from_outside(one) for one in await self.host.messages(session_id))

    async def _run_by_themselves(self, session: Session, reviewers: Sequence[Reviewer]) -> None:
        for reviewer in reviewers:
            if reviewer.run is not None:
                try:
                    await reviewer.run(session)
                except Exception as error:
                    self.log.warning("reviewer %s failed: %s", reviewer.name, error, exc_info=error)

    @hookimpl(tryfirst=True)
    def pre_tool(self, ctx: Context, call: ToolCall) -> Deny | None:
        """Restrict a review to its tools and its number of calls."""
        if ctx.session.kind != KIND:
            return None
        running = self._under_way.get(ctx.session.parent_id or "")
        if running is None:
            return Deny("this review is over")
        if call.name not in running.tools:
            return Deny(f"a review may call {', '.join(sorted(running.tools)) or 'no tool'} only")
        if not running.left:
            return Deny(
                'this review has made all its calls; answer "Nothing to save." or what was kept'
            )
        running.left -= 1
        return None

    @hookimpl(tryfirst=True)
    def around_model(self, ctx: Context, request: ModelRequest) -> Any:
        """End a review with its last calls, without asking the model what else there is."""
        if ctx.session.kind != KIND:
            return None
        said = last_words(request.messages, self._writing)
        if not said:
            return None

        async def end(_request: ModelRequest, _next: object) -> ModelResponse:
            return ModelResponse((TextBlock(said),), "end", model=request.model)

        return end

    # What is kept

    async def forget(self) -> None:
        """Delete the sessions of old reviews, and the counts of sessions that have been idle as
        long."""
        before = self.host.now() - self.config.keep_days * DAY
        core = self.host.services[Inspection]
        for session in await self.host.sessions(kind=KIND, limit=1000):
            if session.created < before:
                await core.delete_session(session.id)
        await self._records.forget(before)


async def _agrees(reviewer: Reviewer, ctx: Context) -> bool:
    """Return whether the reviewer finds the turn worth a review."""
    found = reviewer.due(ctx) if reviewer.due is not None else False
    return bool(await found if inspect.isawaitable(found) else found)


def _runs_now(reviewer: Reviewer, agreed: Collection[str]) -> bool:
    """Return whether a reviewer that has reached a threshold is due after this turn."""
    if reviewer.due is not None:
        return reviewer.name in agreed
    return reviewer.turns is not None or reviewer.iterations is not None


def _is_from_outside(message: Message) -> bool:
    """Return whether something in a message came from outside; one of thousands is asked."""
    blocks = [getattr(block, "origins", ()) for block in message.blocks]
    return any(one.kind == "outside" for origins in (message.carried, *blocks) for one in origins)
