"""Hookline plugin ``review``: learns from conversations in the background.

Reached by the entry point ``hookline_review:Review``. What is learnt, and when, is the reviewers'
(``register_reviewers``): this plugin counts, forks the session when one of them is due, and keeps
the fork to their tools. :mod:`.counts` is what it counts, :mod:`.pending` what is due,
:mod:`.trace` and :mod:`.prompt` what a review is asked.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hookline_hookspecs import (
    Context,
    Deny,
    HooklineError,
    Host,
    Inspection,
    Job,
    Plugin,
    Reviewer,
    Session,
    ToolCall,
    Turn,
    hookimpl,
)
from pydantic import BaseModel, Field

from .counts import Counts
from .pending import Due, Pending
from .prompt import calls_of, prompt, tools_of
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
        default=7.0, ge=0, description="Days that the sessions of reviews and old counts are kept."
    )


@dataclass(slots=True)
class _UnderWay:
    """A review that runs: the tools it may call, and how many calls are left."""

    tools: frozenset[str]
    left: int


class Review(Plugin[ReviewConfig]):
    """Runs the reviewers that plugins register."""

    def __init__(self, config: ReviewConfig, host: Host) -> None:
        super().__init__(config, host)
        self._pending = Pending(host, config.timeout + 60)
        self._under_way: dict[str, _UnderWay] = {}

    # When

    @hookimpl
    async def end_of_turn(self, ctx: Context, turn: Turn) -> None:
        """Count the turn, and review what is due: this session, then what was left undone."""
        if turn.session.kind != "chat":
            return
        counts = await self._counted(ctx, turn)
        if turn.stop != "budget":
            due = [one for one in self._reviewers if await _is_due(one, counts, ctx)]
            if due:
                await self._put(turn.session, counts)
            await self._work_off()

    async def _counted(self, ctx: Context, turn: Turn) -> Counts:
        counts = await self._counts(turn.session.id)
        writing = frozenset(tool.name for tool in self.host.tools() if not tool.read_only)
        counts.add(turn, self._reviewers, writing, trace_lines(turn.tool_calls))
        counts.model, counts.at = ctx.model, self.host.now()
        await self._keep(turn.session.id, counts)
        return counts

    @hookimpl
    async def end_of_session(self, ctx: Context, session: Session) -> None:
        """What was said in it is due, if it was enough; the next turn's end brings the review."""
        if session.kind != "chat":
            return
        counts = await self._counts(session.id)
        if any(counts.reached_at_end(one) for one in self._reviewers):
            await self._put(session, counts)

    @hookimpl
    async def pre_compact(self, ctx: Context, session: Session) -> None:
        """Before a history is shortened: keep what the summary may lose."""
        if session.kind != "chat":
            return
        counts = await self._counts(session.id)
        if not any(counts.reached_at_end(one) for one in self._reviewers):
            return
        await self._put(session, counts)
        try:
            async with asyncio.timeout(COMPACTION_SECONDS):
                await self._work_off(session.id)
        except TimeoutError:
            self.log.warning("the review before the compaction took too long and was left")

    @hookimpl
    def register_jobs(self, register: Callable[[Job], None]) -> None:
        """Forget the sessions of old reviews."""
        register(Job("forget", self.forget, every=DAY))

    @property
    def _reviewers(self) -> list[Reviewer]:
        return [reviewer for _plugin, reviewer in self.host.registered(Reviewer)]

    # What

    async def _put(self, session: Session, counts: Counts) -> None:
        names = [one.name for one in counts.fresh(self._reviewers)]
        await self._pending.put(session, counts.model, names, counts.trace)

    async def _work_off(self, only: str | None = None) -> None:
        """Do the reviews that are due and that nobody works on."""
        try:
            found = await self._pending.open()
        except HooklineError as error:
            self.log.warning("reviews are put off: %s", error)
            return
        for due in found:
            session_id = due.session.id
            if session_id in self._under_way or only not in (None, session_id):
                continue
            if await self._pending.claim(session_id):
                await self._review(due)

    async def _review(self, due: Due) -> None:
        """One review, to its end. One that is cancelled is left for the next process, one that
        failed is tried once more after a while."""
        session_id = due.session.id
        reviewers = [one for one in self._reviewers if one.name in due.reviewers]
        try:
            async with asyncio.timeout(self.config.timeout):
                await self._ask(due, [one for one in reviewers if one.instruction])
                await self._run_by_themselves(due.session, reviewers)
            await self._pending.done(session_id)
        except asyncio.CancelledError:
            await self._pending.release(session_id)
            raise
        except (HooklineError, LookupError, TimeoutError) as error:
            reason = str(error) or "it took too long"
            self.log.warning("the review of session %s failed: %s", session_id, reason)
        counts = await self._counts(session_id)
        counts.reviewed(due.reviewers)
        await self._keep(session_id, counts)

    async def _ask(self, due: Due, reviewers: Sequence[Reviewer]) -> None:
        """Ask a copy of the session; it may call the reviewers' tools."""
        if not reviewers:
            return
        session_id = due.session.id
        allowed = frozenset(tools_of(reviewers))
        self._under_way[session_id] = _UnderWay(allowed, calls_of(reviewers))
        try:
            text = prompt(reviewers, due.trace)
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

    async def _run_by_themselves(self, session: Session, reviewers: Sequence[Reviewer]) -> None:
        for reviewer in reviewers:
            if reviewer.run is not None:
                try:
                    await reviewer.run(session)
                except Exception as error:
                    self.log.warning("reviewer %s failed: %s", reviewer.name, error, exc_info=error)

    @hookimpl(tryfirst=True)
    def pre_tool(self, ctx: Context, call: ToolCall) -> Deny | None:
        """Keep a review to its tools and to its number of calls."""
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

    # What is kept

    async def _counts(self, session_id: str) -> Counts:
        return Counts.from_json(await self.host.storage.kv.get(f"session/{session_id}"))

    async def _keep(self, session_id: str, counts: Counts) -> None:
        await self.host.storage.kv.set(f"session/{session_id}", counts.to_json())

    async def forget(self) -> None:
        """Delete the sessions of reviews, and counts that nobody adds to, once they are old."""
        before = self.host.now() - self.config.keep_days * DAY
        core = self.host.services[Inspection]  # type: ignore[type-abstract]
        for session in await self.host.sessions(kind=KIND, limit=1000):
            if session.created < before:
                await core.delete_session(session.id)
        notes = self.host.storage.kv
        for key in await notes.keys("session/"):
            if Counts.from_json(await notes.get(key)).at < before:
                await notes.delete(key)


async def _is_due(reviewer: Reviewer, counts: Counts, ctx: Context) -> bool:
    if not counts.reached(reviewer):
        return False
    if reviewer.due is None:
        return reviewer.turns is not None or reviewer.iterations is not None
    found = reviewer.due(ctx)
    return bool(await found if inspect.isawaitable(found) else found)
