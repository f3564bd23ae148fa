"""The plugin: before each request it checks the size and shortens the history if necessary."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from hookline_hookspecs import (
    ArtifactKeeper,
    Context,
    ContextTooLong,
    HooklineError,
    Host,
    Message,
    ModelRequest,
    ModelResponse,
    Plugin,
    Session,
    command,
    hookimpl,
)

from .config import CompactionConfig
from .large_texts import count_sent_chars, cut_large_texts, is_too_large
from .session_records import MAX_TOKEN_RATIO, SessionRecord, SessionRecords
from .token_estimate import CHARS_PER_TOKEN, RequestSizes

if TYPE_CHECKING:
    from .compaction_pass import CompactionPass

SUMMARY_ALLOWANCE_CHARS = 2_000
"""Characters that a summary may have even if what it replaces is shorter, if a person or the
provider has requested the pass."""


class Compaction(Plugin[CompactionConfig]):
    """Keeps a conversation within the model's window."""

    @hookimpl
    def setup(self, host: Host) -> None:
        """Set up the stored records of sessions."""
        self._records = SessionRecords(host)
        self._sizes = RequestSizes()

    @hookimpl
    async def end_of_session(self, ctx: Context, session: Session) -> None:
        """Delete the session's record."""
        await self._records.delete(session.id)

    @hookimpl
    async def pre_model(self, ctx: Context, request: ModelRequest) -> ModelRequest | None:
        """Shorten the history if the request has reached its share of the window."""
        if request.purpose != "turn" or self._is_small(ctx, request):
            return None
        record = await self._records.get(ctx.session.id)
        if self._is_stopped(record) or record.failed_turn == ctx.turn.id:
            return None
        limit = record.to_chars(self._limit_tokens(ctx, request.model), request.model)
        max_chars = self._max_text_chars(ctx, request.model, record)
        before = self._sent_chars(request, max_chars)
        if before <= limit:
            return None
        messages = await self._compact_before_send(ctx, request, record, limit, before)
        return None if messages is None else replace(request, messages=messages)

    @hookimpl
    def around_model(
        self, ctx: Context, request: ModelRequest
    ) -> Callable[..., Awaitable[ModelResponse]] | None:
        """Cut single texts that are too large. If the provider still reports that the request is
        too long, shorten the history and send it once more."""
        if request.purpose != "turn":
            return None

        async def middleware(
            request: ModelRequest, call_next: Callable[[ModelRequest], Awaitable[ModelResponse]]
        ) -> ModelResponse:
            sent = await self._cut_large_texts(ctx, request)
            try:
                response = await call_next(sent)
            except ContextTooLong:
                shorter = await self._compact_after_refusal(ctx, request)
                if shorter is None:
                    raise
                sent = await self._cut_large_texts(ctx, shorter)
                response = await call_next(sent)
            await self._record_token_count(ctx, sent, response)
            return response

        return middleware

    @command("/compact", audience="session", aliases=("/compress",), category="Conversation")
    async def compact(self, ctx: Context, args: str) -> str:
        """Shorten the conversation: /compact, or /compact WHAT TO KEEP IN VIEW."""
        from .compaction_pass import PassLimits, SummaryFailed

        record = await self._records.get(ctx.session.id)
        history = ctx.history
        compaction = self._new_pass(ctx, history, None, record, args)
        limit = record.to_chars(self._limit_tokens(ctx, None), "")
        limits = PassLimits(
            target_chars=0,
            max_head_chars=round(self.config.tail_share * limit),
            max_tail_chars=round(self.config.tail_share * min(compaction.total_chars, limit)),
            keep_heads=(self.config.keep_head,),
            min_new_chars=1,
            min_freed_chars=-SUMMARY_ALLOWANCE_CHARS,
            summary_allowance=SUMMARY_ALLOWANCE_CHARS,
        )
        try:
            result = await compaction.run(limits)
            if not result.changes:
                return "There is nothing to shorten yet."
            messages = await ctx.rewrite(result.changes)
        except (SummaryFailed, HooklineError) as error:
            return f"The conversation stays as it was: {_bare_text(error)}."
        await self._record_effective(ctx.session.id, record)
        tokens = [record.to_tokens(chars, "") for chars in (result.before, result.after)]
        return (
            f"Shortened: {len(history)} messages became {len(messages)}, "
            f"about {tokens[0]} tokens became {tokens[1]}."
        )

    # Numbers

    def _limit_tokens(self, ctx: Context, model: str | None) -> float:
        """Return the tokens at which a request is too large."""
        window, config = ctx.window(model), self.config
        small = window < config.window_small
        return window * (config.threshold_small if small else config.threshold)

    def _max_text_chars(self, ctx: Context, model: str | None, record: SessionRecord) -> int:
        """Return the most characters of one text. Not corrected by the providers' counts, so that
        the cut is the same in each request."""
        config = self.config
        share = config.message_share_tight if record.tight else config.message_share
        return int(ctx.window(model) * CHARS_PER_TOKEN * share)

    def _is_small(self, ctx: Context, request: ModelRequest) -> bool:
        """Return whether a request is far below every limit, however its tokens are counted; does
        not access the storage."""
        smallest = self._limit_tokens(ctx, request.model) * CHARS_PER_TOKEN / MAX_TOKEN_RATIO
        tight = self._max_text_chars(ctx, request.model, SessionRecord(tight=True))
        return self._sizes.total_chars(request) <= min(smallest, tight)

    def _sent_chars(self, request: ModelRequest, max_chars: int) -> int:
        """Return the characters of the request if each text may have ``max_chars``."""
        history = self._sizes.history(request)
        if history.largest_chars <= max_chars:
            return self._sizes.fixed_chars(request) + history.total_chars
        return self._sizes.fixed_chars(request) + sum(
            count_sent_chars(m, max_chars) for m in request.messages
        )

    def _is_stopped(self, record: SessionRecord) -> bool:
        return record.ineffective >= self.config.ineffective_passes

    # Passes

    def _new_pass(
        self,
        ctx: Context,
        history: Sequence[Message],
        model: str | None,
        record: SessionRecord,
        focus: str = "",
    ) -> CompactionPass:
        from .compaction_pass import CompactionPass
        from .summary import Summariser

        running = next(iter(ctx.turn.messages), None)
        max_chars = self._max_text_chars(ctx, model, record)
        window = ctx.window(self.host.config.auxiliary_model or model)
        summariser = Summariser(ctx, self.config, record.to_chars(window / 2, model or ""), focus)
        return CompactionPass(
            history,
            running,
            self.config.prune_min_chars,
            lambda message: count_sent_chars(message, max_chars),
            summariser,
        )

    async def _compact_before_send(
        self, ctx: Context, request: ModelRequest, record: SessionRecord, limit: int, before: int
    ) -> tuple[Message, ...] | None:
        """Return the shortened messages of a request with ``before`` characters; None if the pass
        failed or freed too little."""
        from .compaction_pass import PassLimits, PassResult, SummaryFailed, reapply_request_changes

        config, fixed = self.config, self._sizes.fixed_chars(request)
        keep = round(config.tail_share * limit)
        limits = PassLimits(
            target_chars=round(config.enough_share * limit) - fixed,
            max_head_chars=keep,
            max_tail_chars=keep,
            keep_heads=(config.keep_head,),
            min_new_chars=round(config.ineffective_share * limit),
            min_freed_chars=round(config.ineffective_share * before),
            summary_allowance=0,
        )
        history = ctx.history
        try:
            result = await self._new_pass(ctx, history, request.model, record).run(limits)
        except SummaryFailed as error:
            record.failed_turn = ctx.turn.id
            ctx.notify(f"The conversation could not be shortened and is sent as it was: {error}.")
            result = PassResult((), before, before)
        if not result.changes:
            await self._record_ineffective(ctx, record)
            return None
        new = await ctx.rewrite(result.changes)
        await self._record_effective(ctx.session.id, record)
        return reapply_request_changes(history, request.messages, result.changes, new)

    async def _compact_after_refusal(
        self, ctx: Context, request: ModelRequest
    ) -> ModelRequest | None:
        """Return a smaller request after the provider refused this one as too long; None if that
        is impossible."""
        from .compaction_pass import PassLimits, SummaryFailed, reapply_request_changes

        record = await self._records.get(ctx.session.id)
        config, history = self.config, ctx.history
        tight = self._max_text_chars(ctx, request.model, SessionRecord(tight=True))
        cuts = not record.tight and any(is_too_large(m, tight) for m in request.messages)
        if cuts:
            record.tight = True
            await self._records.save(ctx.session.id)
        compaction = self._new_pass(ctx, history, request.model, record)
        limits = PassLimits(
            target_chars=compaction.total_chars // 2,
            max_head_chars=round(config.tail_share * compaction.total_chars),
            max_tail_chars=round(config.tail_share * compaction.total_chars),
            keep_heads=(config.keep_head, 0),
            min_new_chars=1,
            min_freed_chars=-SUMMARY_ALLOWANCE_CHARS,
            summary_allowance=SUMMARY_ALLOWANCE_CHARS,
        )
        try:
            result = await compaction.run(limits)
            if result.changes:
                new = await ctx.rewrite(result.changes)
                await self._record_effective(ctx.session.id, record)
                messages = reapply_request_changes(history, request.messages, result.changes, new)
                return replace(request, messages=messages)
        except (SummaryFailed, HooklineError) as error:
            reason = _bare_text(error)
            ctx.notify(f"The conversation is too long and could not be shortened: {reason}.")
        return request if cuts else None

    async def _cut_large_texts(self, ctx: Context, request: ModelRequest) -> ModelRequest:
        """Return the request with each too large text cut."""
        if self._is_small(ctx, request):
            return request
        max_chars = self._max_text_chars(
            ctx, request.model, await self._records.get(ctx.session.id)
        )
        if self._sizes.history(request).largest_chars <= max_chars:
            return request
        if not any(is_too_large(message, max_chars) for message in request.messages):
            return request
        keeper = self.host.services.get(ArtifactKeeper)
        keep = partial(keeper.keep, ctx) if keeper is not None else None
        messages = [await cut_large_texts(message, max_chars, keep) for message in request.messages]
        return replace(request, messages=tuple(messages))

    # Stored records

    async def _record_token_count(
        self, ctx: Context, sent: ModelRequest, response: ModelResponse
    ) -> None:
        if self._is_small(ctx, sent):
            return
        record = await self._records.get(ctx.session.id)
        if record.record_count(sent.model, self._sizes.total_chars(sent), response.usage.input):
            await self._records.save(ctx.session.id)

    async def _record_effective(self, session_id: str, record: SessionRecord) -> None:
        if record.ineffective:
            record.ineffective = 0
            await self._records.save(session_id)

    async def _record_ineffective(self, ctx: Context, record: SessionRecord) -> None:
        record.ineffective += 1
        await self._records.save(ctx.session.id)
        if self._is_stopped(record):
            ctx.notify(
                f"Shortening this conversation freed less than {self.config.ineffective_share:.0%} "
                f"{record.ineffective} times in a row, so it is no longer done by itself in this "
                f"session. /compact shortens it now, /new begins a new one."
            )


def _bare_text(error: Exception) -> str:
    """Return the error's text without its full stop."""
    return str(error).rstrip(".")
