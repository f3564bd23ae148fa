"""Counts turns, and runs a reviewer's fork of the session when one is due."""

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

from .counts import SessionCounts
from .due_reviews import DueReview, ReviewRecords
from .prompt import PROPOSALS_NOTE, allowed_tools, final_statement, max_calls, prompt
from .trace import trace_lines

KIND = "review"
DAY_SECONDS = 86_400.0
COMPACTION_TIMEOUT = 100.0
"""Seconds that a compaction waits for a review; core gives ``pre_compact`` 120 s."""


class ReviewConfig(BaseModel):
    """Limits of reviews."""

    timeout: float = Field(
        default=300.0,
        gt=0,
        title="Review timeout (seconds)",
        description="Maximum seconds for one review.",
    )
    keep_days: float = Field(
        default=7.0, ge=0, title="Retention (days)", description="Days that reviews are kept."
    )


@dataclass(slots=True)
class _RunningReview:
    """A running review: the tools it may call, and how many calls are left."""

    tools: frozenset[str]
    left: int


class Review(Plugin[ReviewConfig]):
    """Runs the reviewers that plugins register."""

    preserves_streaming = True

    def __init__(self, config: ReviewConfig, host: Host) -> None:
        super().__init__(config, host)
        self._records = ReviewRecords(host, config.timeout + 60)
        self._running: dict[str, _RunningReview] = {}

    # When reviews run

    @hookimpl
    async def teardown(self, host: Host) -> None:
        """Store the counts, and release this process's lock."""
        await self._records.flush()
        self._records.process.release()

    @hookimpl
    def start_of_session(self, ctx: Context, session: Session) -> None:
        """Start counting in a new session."""
        if session.kind == "chat" and not session.resumed:
            self._records.begin(session.id)

    @hookimpl
    async def pre_reply(self, ctx: Context, reply: Reply) -> None:
        """Count the turn before its reply is sent: after that the process may end at any time."""
        if ctx.session.kind == "chat":
            try:
                await self._count(ctx, ctx.turn)
            except HooklineError as error:
                self.log.warning("could not count turn %s yet: %s", ctx.turn.id, error)

    @hookimpl(trylast=True)
    async def end_of_turn(self, ctx: Context, turn: Turn) -> None:
        """Run the reviews that are due: this session's, and those left by earlier processes.

        This may take a minute, so it comes after all other plugins.
        """
        if turn.session.kind != "chat":
            return
        if not ctx.stash.get("counted"):
            await self._count(ctx, turn)
        due = turn.stop != "budget" and self._records.may_be_due
        if due and not await self._is_paused(turn.session.id):
            await self._run_due_reviews()

    async def _count(self, ctx: Context, turn: Turn) -> None:
        """Count the turn and store the review, if one becomes due."""
        reviewers = self._reviewers
        writing = self._writing
        agreed = {
            reviewer.name
            for reviewer in reviewers
            if reviewer.due is not None and await _agrees(reviewer, ctx)
        }
        lines, model, now = trace_lines(turn.tool_calls), ctx.model, self.host.now()

        def add(counts: SessionCounts) -> None:
            counts.add(turn, reviewers, agreed, writing, lines)
            counts.model, counts.at = model, now

        counts = await self._records.count(turn.session.id, add)
        due = any(
            counts.reached(reviewer) and _runs_now(reviewer, agreed) for reviewer in reviewers
        )
        if due and turn.stop != "budget" and not await self._is_paused(turn.session.id):
            await self._records.schedule(turn.session, reviewers)
        ctx.stash["counted"] = True

    @hookimpl
    async def end_of_session(self, ctx: Context, session: Session) -> None:
        """Schedule a review if enough messages are not reviewed; the next end of a turn runs it."""
        if session.kind != "chat":
            return
        await self._schedule_at_end(session)

    @hookimpl
    async def pre_compact(self, ctx: Context, session: Session) -> None:
        """Review a history before it is compacted, as the summary may lose what is worth saving."""
        if session.kind != "chat":
            return
        if not await self._schedule_at_end(session):
            return
        try:
            async with asyncio.timeout(COMPACTION_TIMEOUT):
                await self._run_due_reviews(session.id)
        except TimeoutError:
            self.log.warning("the review before a compaction took too long and was postponed")

    async def _schedule_at_end(self, session: Session) -> bool:
        counts, reviewers = await self._records.counts(session.id), self._reviewers
        reached = any(counts.reached_at_end(reviewer) for reviewer in reviewers)
        if reached and await self._is_paused(session.id):
            return False
        if reached:
            await self._records.schedule(session, reviewers)
        return reached

    async def _is_paused(self, session_id: str) -> bool:
        """True in the modes ``ask`` and ``plan``, in which nothing is written in the background."""
        modes = self.host.services.get(Modes)
        return modes is not None and await modes.get(session_id) in ("ask", "plan")

    @hookimpl
    def register_jobs(self, register: Callable[[Job], None]) -> None:
        """Register the job that deletes old reviews."""
        register(Job("forget", self.forget, every=DAY_SECONDS))

    @property
    def _reviewers(self) -> list[Reviewer]:
        return [reviewer for _plugin, reviewer in self.host.registered(Reviewer)]

    @property
    def _writing(self) -> frozenset[str]:
        return frozenset(tool.name for tool in self.host.tools() if not tool.read_only)

    # Running reviews

    async def _run_due_reviews(self, only: str | None = None) -> None:
        """Run the reviews that are due, not running in any process, and not paused."""
        try:
            while (due := await self._records.claim(self._is_paused, only)) is not None:
                await self._review(due)
        except HooklineError as error:
            self.log.warning("reviews are postponed: %s", error)

    async def _review(self, due: DueReview) -> None:
        """Run one review. A cancelled one is left to the next process; a failed one is retried."""
        session_id = due.session.id
        reviewers = [reviewer for reviewer in self._reviewers if reviewer.name in due.reviewers]
        try:
            async with asyncio.timeout(self.config.timeout):
                await self._ask(due, [reviewer for reviewer in reviewers if reviewer.instruction])
                await self._run_own_reviewers(due.session, reviewers)
        except asyncio.CancelledError:
            await self._records.release(due)
            raise
        except (HooklineError, LookupError, TimeoutError) as error:
            reason = str(error) or "timed out"
            self.log.warning("the review of session %s failed: %s", session_id, reason)
            await self._records.failed(due)
        else:
            await self._records.done(due)

    async def _ask(self, due: DueReview, reviewers: Sequence[Reviewer]) -> None:
        """Run the reviewers' instructions in a fork of the session."""
        if not reviewers:
            return
        session_id = due.session.id
        allowed = frozenset(allowed_tools(reviewers))
        self._running[session_id] = _RunningReview(allowed, max_calls(reviewers))
        try:
            text = prompt(reviewers, due.trace)
            if await self._has_read_from_outside(session_id):
                text = f"{text}\n\n{PROPOSALS_NOTE}"
            turn = await self.host.fork(
                session_id, text, model=due.model, kind=KIND, max_iterations=max_calls(reviewers)
            )
        finally:
            del self._running[session_id]
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
        return any(_is_from_outside(message) for message in await self.host.messages(session_id))

    async def _run_own_reviewers(self, session: Session, reviewers: Sequence[Reviewer]) -> None:
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
        running = self._running.get(ctx.session.parent_id or "")
        if running is None:
            return Deny("this review has ended")
        if call.name not in running.tools:
            return Deny(f"a review may only call {', '.join(sorted(running.tools)) or 'no tools'}")
        if not running.left:
            return Deny(
                'this review has no calls left; answer "Nothing to save." or what was saved'
            )
        running.left -= 1
        return None

    @hookimpl(tryfirst=True)
    def around_model(self, ctx: Context, request: ModelRequest) -> Any:
        """End a review after its last calls without another model request."""
        if ctx.session.kind != KIND:
            return None
        statement = final_statement(request.messages, self._writing)
        if not statement:
            return None

        async def end(_request: ModelRequest, _next: object) -> ModelResponse:
            return ModelResponse((TextBlock(statement),), "end", model=request.model)

        return end

    # Cleanup

    async def forget(self) -> None:
        """Delete old reviews, and the counts of sessions that have been idle as long."""
        before = self.host.now() - self.config.keep_days * DAY_SECONDS
        core = self.host.services[Inspection]
        for session in await self.host.sessions(kind=KIND, limit=1000):
            if session.created < before:
                await core.delete_session(session.id)
        await self._records.forget(before)


async def _agrees(reviewer: Reviewer, ctx: Context) -> bool:
    """Call the reviewer's ``due`` function."""
    agreed = reviewer.due(ctx) if reviewer.due is not None else False
    return bool(await agreed if inspect.isawaitable(agreed) else agreed)


def _runs_now(reviewer: Reviewer, agreed: Collection[str]) -> bool:
    """True if a reviewer that reached a threshold is due after this turn."""
    if reviewer.due is not None:
        return reviewer.name in agreed
    return reviewer.turns is not None or reviewer.iterations is not None


def _is_from_outside(message: Message) -> bool:
    """True if a part of the message came from outside."""
    blocks = [getattr(block, "origins", ()) for block in message.blocks]
    return any(
        origin.kind == "outside" for origins in (message.carried, *blocks) for origin in origins
    )
