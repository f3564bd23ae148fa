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
from .record import PLAUSIBLE, Record, Records
from .spill import fit, is_too_large, weigh_sent
from .weight import CHARS_PER_TOKEN, Scales

if TYPE_CHECKING:
    from .shorten import Pass

SHORT = 2_000
"""Characters that a summary may have even if what it replaces is shorter, if a person or the
provider has requested the pass."""


class Compaction(Plugin[CompactionConfig]):
    """Keeps a conversation within the model's window."""

    @hookimpl
    def setup(self, host: Host) -> None:
        """Set up the stored records of sessions."""
        self._records = Records(host)
        self._scales = Scales()

    @hookimpl
    async def end_of_session(self, ctx: Context, session: Session) -> None:
        """Delete the session's record."""
        await self._records.forget(session.id)

    @hookimpl
    async def pre_model(self, ctx: Context, request: ModelRequest) -> ModelRequest | None:
        """Shorten the history if the request has reached its share of the window."""
        if request.purpose != "turn" or self._is_small(ctx, request):
            return None
        record = await self._records.of(ctx.session.id)
        if self._is_stopped(record) or record.failed_turn == ctx.turn.id:
            return None
        limit = record.chars(self._limit(ctx, request.model), request.model)
        room = self._room(ctx, request.model, record)
        before = self._sent(request, room)
        if before <= limit:
            return None
        messages = await self._shorten_unasked(ctx, request, record, limit, before)
        return None if messages is None else replace(request, messages=messages)

    @hookimpl
    def around_model(
        self, ctx: Context, request: ModelRequest
    ) -> Callable[..., Awaitable[ModelResponse]] | None:
        """Cut texts that are too large by themselves; if the provider still reports that the
        request is too long, shorten the history and send it once more."""
        if request.purpose != "turn":
            return None

        async def middleware(
            request: ModelRequest, call_next: Callable[[ModelRequest], Awaitable[ModelResponse]]
        ) -> ModelResponse:
            sent = await self._fitted(ctx, request)
            try:
                response = await call_next(sent)
            except ContextTooLong:
                shorter = await self._shorten_demanded(ctx, request)
                if shorter is None:
                    raise
                sent = await self._fitted(ctx, shorter)
                response = await call_next(sent)
            await self._learn(ctx, sent, response)
            return response

        return middleware

    @command("/compact", audience="session", aliases=("/compress",), category="Conversation")
    async def compact(self, ctx: Context, args: str) -> str:
        """Shorten the history: /compact, or /compact WHAT TO KEEP IN VIEW."""
        from .shorten import Aim, SummaryFailed

        record = await self._records.of(ctx.session.id)
        history = ctx.history
        shorten = self._pass(ctx, history, None, record, args)
        limit = record.chars(self._limit(ctx, None), "")
        aim = Aim(
            goal=0,
            head_room=round(self.config.tail_share * limit),
            tail_room=round(self.config.tail_share * min(shorten.weight, limit)),
            heads=(self.config.keep_head,),
            least_new=1,
            least_freed=-SHORT,
            allowed=SHORT,
        )
        try:
            result = await shorten.run(aim)
            if not result.changes:
                return "There is nothing to shorten yet."
            messages = await ctx.rewrite(result.changes)
        except (SummaryFailed, HooklineError) as error:
            return f"The conversation stays as it was: {_bare(error)}."
        await self._worked(ctx.session.id, record)
        tokens = [record.tokens(chars, "") for chars in (result.before, result.after)]
        return (
            f"Shortened: {len(history)} messages became {len(messages)}, "
            f"about {tokens[0]} tokens became {tokens[1]}."
        )

    # Numbers

    def _limit(self, ctx: Context, model: str | None) -> float:
        """Return the tokens at which a request is too large."""
        window, config = ctx.window(model), self.config
        small = window < config.window_small
        return window * (config.threshold_small if small else config.threshold)

    def _room(self, ctx: Context, model: str | None, record: Record) -> int:
        """Return the characters that one text may have. Not corrected by the providers' counts,
        because the cut must be the same in each request."""
        config = self.config
        share = config.message_share_tight if record.tight else config.message_share
        return int(ctx.window(model) * CHARS_PER_TOKEN * share)

    def _is_small(self, ctx: Context, request: ModelRequest) -> bool:
        """Return whether a request is far below every limit, however its tokens are counted; does
        not access the storage."""
        smallest = self._limit(ctx, request.model) * CHARS_PER_TOKEN / PLAUSIBLE[1]
        tight = self._room(ctx, request.model, Record(tight=True))
        return self._scales.request(request) <= min(smallest, tight)

    def _sent(self, request: ModelRequest, room: int) -> int:
        """Return the characters of the request if one text may have ``room``."""
        weighed = self._scales.messages(request)
        if weighed.heaviest <= room:
            return self._scales.fixed(request) + weighed.total
        return self._scales.fixed(request) + sum(weigh_sent(m, room) for m in request.messages)

    def _is_stopped(self, record: Record) -> bool:
        return record.ineffective >= self.config.ineffective_passes

    # Passes

    def _pass(
        self,
        ctx: Context,
        history: Sequence[Message],
        model: str | None,
        record: Record,
        focus: str = "",
    ) -> Pass:
        from .shorten import Pass
        from .summary import Summariser

        running = next(iter(ctx.turn.messages), None)
        room = self._room(ctx, model, record)
        window = ctx.window(self.host.config.auxiliary_model or model)
        summariser = Summariser(ctx, self.config, record.chars(window / 2, model or ""), focus)
        return Pass(
            history,
            running,
            self.config.prune_min_chars,
            lambda message: weigh_sent(message, room),
            summariser,
        )

    async def _shorten_unasked(
        self, ctx: Context, request: ModelRequest, record: Record, limit: int, before: int
    ) -> tuple[Message, ...] | None:
        from .shorten import Aim, Result, SummaryFailed, carried_over

        config, fixed = self.config, self._scales.fixed(request)
        keep = round(config.tail_share * limit)
        aim = Aim(
            goal=round(config.enough_share * limit) - fixed,
            head_room=keep,
            tail_room=keep,
            heads=(config.keep_head,),
            least_new=round(config.ineffective_share * limit),
            least_freed=round(config.ineffective_share * before),
            allowed=0,
        )
        history = ctx.history
        try:
            result = await self._pass(ctx, history, request.model, record).run(aim)
        except SummaryFailed as error:
            record.failed_turn = ctx.turn.id
            ctx.notify(f"The conversation could not be shortened and is sent as it was: {error}.")
            result = Result((), before, before)
        if not result.changes:
            await self._in_vain(ctx, record)
            return None
        new = await ctx.rewrite(result.changes)
        await self._worked(ctx.session.id, record)
        return carried_over(history, request.messages, result.changes, new)

    async def _shorten_demanded(self, ctx: Context, request: ModelRequest) -> ModelRequest | None:
        """Return a smaller request after the provider refused this one; None if that is
        impossible."""
        from .shorten import Aim, SummaryFailed, carried_over

        record = await self._records.of(ctx.session.id)
        config, history = self.config, ctx.history
        tight = self._room(ctx, request.model, Record(tight=True))
        cuts = not record.tight and any(is_too_large(m, tight) for m in request.messages)
        if cuts:
            record.tight = True
            await self._records.save(ctx.session.id)
        shorten = self._pass(ctx, history, request.model, record)
        aim = Aim(
            goal=shorten.weight // 2,
            head_room=round(config.tail_share * shorten.weight),
            tail_room=round(config.tail_share * shorten.weight),
            heads=(config.keep_head, 0),
            least_new=1,
            least_freed=-SHORT,
            allowed=SHORT,
        )
        try:
            result = await shorten.run(aim)
            if result.changes:
                new = await ctx.rewrite(result.changes)
                await self._worked(ctx.session.id, record)
                messages = carried_over(history, request.messages, result.changes, new)
                return replace(request, messages=messages)
        except (SummaryFailed, HooklineError) as error:
            ctx.notify(f"The conversation is too long and could not be shortened: {_bare(error)}.")
        return request if cuts else None

    async def _fitted(self, ctx: Context, request: ModelRequest) -> ModelRequest:
        """Return the request with every text cut that is too large by itself."""
        if self._is_small(ctx, request):
            return request
        room = self._room(ctx, request.model, await self._records.of(ctx.session.id))
        if self._scales.messages(request).heaviest <= room:
            return request
        if not any(is_too_large(message, room) for message in request.messages):
            return request
        keeper = self.host.services.get(ArtifactKeeper)
        keep = partial(keeper.keep, ctx) if keeper is not None else None
        fitted = [await fit(message, room, keep) for message in request.messages]
        return replace(request, messages=tuple(fitted))

    # What is remembered

    async def _learn(self, ctx: Context, sent: ModelRequest, response: ModelResponse) -> None:
        if self._is_small(ctx, sent):
            return
        record = await self._records.of(ctx.session.id)
        if record.learn(sent.model, self._scales.request(sent), response.usage.input):
            await self._records.save(ctx.session.id)

    async def _worked(self, session_id: str, record: Record) -> None:
        if record.ineffective:
            record.ineffective = 0
            await self._records.save(session_id)

    async def _in_vain(self, ctx: Context, record: Record) -> None:
        record.ineffective += 1
        await self._records.save(ctx.session.id)
        if self._is_stopped(record):
            ctx.notify(
                f"Shortening this conversation freed less than {self.config.ineffective_share:.0%} "
                f"{record.ineffective} times in a row, so it is no longer done by itself in this "
                f"session. /compact shortens it now, /new begins a new one."
            )


def _bare(error: Exception) -> str:
    """An error's sentence without its full stop."""
    return str(error).rstrip(".")
