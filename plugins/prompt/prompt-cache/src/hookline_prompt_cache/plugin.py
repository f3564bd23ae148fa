"""The plugin: plans each request of a turn, and reports what the turn's input cost."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, TypeAlias
from weakref import WeakValueDictionary

from hookline_hookspecs import (
    BadRequest,
    CachePrice,
    Context,
    HooklineError,
    Host,
    ModelRequest,
    ModelResponse,
    Plugin,
    Turn,
    WireRequest,
    hookimpl,
)
from hookline_hookspecs.prices import Prices

from .cache_key import FIELD, cache_key, refuses_key
from .config import PromptCacheConfig
from .estimate import Estimate
from .pace import Chats, Pace, Turns
from .plan import Mode, plan, takes_markers
from .providers import smallest_prefix, takes_cache_key
from .report import TurnCost, sentence
from .rhythm import LONG, SHORT, rhythm


@dataclass
class _Sending:
    """A request being sent. ``size`` is in bytes; ``keyed`` is the provider that got a key."""

    model: str = ""
    size: int = 0
    keyed: str = ""


_sending: ContextVar[_Sending | None] = ContextVar("hookline_prompt_cache", default=None)
"""The request that is being sent."""


Send: TypeAlias = Callable[[ModelRequest], Awaitable[ModelResponse]]
KEYLESS = "keyless"
"""The stored value that lists the providers whose servers refused a key."""


class PromptCache(Plugin[PromptCacheConfig]):
    """Keeps conversations in the provider's cache."""

    @hookimpl
    def setup(self, host: Host) -> None:
        """Begin with nothing known."""
        self._turns: Turns | None = None
        self._keyless: set[str] | None = None
        self._held: WeakValueDictionary[str, Pace] = WeakValueDictionary()
        try:
            self._turns = Turns(host)
        except HooklineError as error:
            self.log.info("the rhythm of sessions is not kept: %s", error)
        self._chats = Chats(host, self._turns)

    @hookimpl
    async def teardown(self, host: Host) -> None:
        """Write what waits."""
        if self._turns is not None:
            await self._turns.flush()

    @hookimpl
    async def start_of_turn(self, ctx: Context, turn: Turn) -> None:
        """Record when the turn began and choose its TTLs by the session's rhythm."""
        if not self.config.enabled:
            return
        known = ctx.stash.session
        if "pace" not in known:
            known["pace"] = await self._pace(turn.session.id if turn.session.resumed else None)
            self._held[turn.session.id] = known["pace"]
            await self._chats.begin(turn.session, known["pace"])
            if _is_copy(ctx):
                parent = turn.session.parent_id
                original = self._held.get(parent or "") or await self._pace(parent)
                ctx.stash["cold"] = original.is_cold(ctx.host.now())
        pace: Pace = known["pace"]
        now = ctx.host.now()
        pace.begin(turn.id, now)
        ctx.stash["mode"] = rhythm(pace.pauses(), CachePrice())
        if self._turns is not None:
            self._turns.begin(turn.id, turn.session, now)

    async def _pace(self, session_id: str | None) -> Pace:
        """Return what is stored of a session."""
        if self._turns is None or session_id is None:
            return Pace()
        return await self._turns.read(session_id)

    @hookimpl
    def around_model(self, ctx: Context, request: ModelRequest) -> Any:
        """Count the request's tokens, and send it again where its key was refused."""
        if not self.config.enabled:
            return None

        async def count(asked: ModelRequest, call_next: Send) -> ModelResponse:
            sending = _Sending()
            token = _sending.set(sending)
            try:
                response = await self._answer(ctx, asked, call_next, sending)
            finally:
                _sending.reset(token)
            if asked.purpose == "turn":
                self._count(ctx, response, sending)
            return response

        return count

    async def _answer(
        self, ctx: Context, asked: ModelRequest, call_next: Send, sending: _Sending
    ) -> ModelResponse:
        """Return the response; if the server rejects the cache key, retry without it."""
        try:
            return await call_next(asked)
        except BadRequest as error:
            if not sending.keyed or not refuses_key(error):
                raise
            self.log.info("provider %s refuses %s; it gets none", sending.keyed, FIELD)
            keyless = await self._without_key(ctx)
            keyless.add(sending.keyed)
            sending.keyed = ""
            await self._keep_keyless(ctx, keyless)
            return await call_next(asked)

    def _count(self, ctx: Context, response: ModelResponse, sending: _Sending) -> None:
        now = ctx.host.now()
        ctx.stash.of(TurnCost).add(response, now)
        known = ctx.stash.session
        estimate: Estimate = known.setdefault("estimate", Estimate())
        estimate.counted(sending.model, sending.size, response.usage.input)
        pace: Pace = known.setdefault("pace", Pace())
        pace.answered(ctx.turn.id, now)
        broken = response.broken
        if broken is not None and broken.plugin != "core" and broken.plugin not in pace.told:
            pace.told.add(broken.plugin)
            ctx.notify(sentence(broken))

    @hookimpl
    async def pre_send(self, ctx: Context, wire: WireRequest) -> WireRequest | None:
        """Set the markers, or the cache key where the wire has no markers."""
        sending = _sending.get() or _Sending()
        if not self.config.enabled or wire.purpose == "auxiliary":
            return None  # A request that is sent once is not worth caching.
        sending.model = wire.model
        sending.size = sum(map(len, (*wire.stable.values(), *wire.fragments)))
        if takes_markers(wire):
            return self._marked(ctx, wire) if self.config.markers else None
        if not await self._wants_key(ctx, wire):
            return None
        sending.keyed = wire.provider
        return replace(wire, fields={**wire.fields, FIELD: cache_key(wire, ctx.session)})

    def _marked(self, ctx: Context, wire: WireRequest) -> WireRequest:
        fixed = self.config.ttl
        mode: Mode = ctx.stash.get("mode", "5m") if fixed == "auto" else fixed
        tokens = self.config.smallest_prefix or smallest_prefix(wire.model)
        estimate: Estimate = ctx.stash.session.setdefault("estimate", Estimate())
        smallest = estimate.size(wire.model, tokens)
        last = not ctx.stash.of(TurnCost).requests and _is_copy(ctx)
        cold = last and ctx.stash.get("cold", False)
        markers = plan(wire, mode, smallest, last=last, cold=cold)
        long = any(marker.ttl == "1h" for marker in markers)
        return replace(wire, markers=markers, ttl=LONG if long else SHORT)

    async def _wants_key(self, ctx: Context, wire: WireRequest) -> bool:
        wanted = self.config.cache_key
        if wanted == "never" or FIELD in wire.fields:
            return False
        if wanted == "always":
            return True
        known = takes_cache_key(wire.provider)
        return known and wire.provider not in await self._without_key(ctx)

    async def _without_key(self, ctx: Context) -> set[str]:
        """The providers whose servers refused a key, also in earlier processes."""
        if self._keyless is None:
            self._keyless = set()
            with suppress(HooklineError):
                self._keyless |= set(await ctx.host.storage.kv.get(KEYLESS, []))
        return self._keyless

    async def _keep_keyless(self, ctx: Context, keyless: set[str]) -> None:
        with suppress(HooklineError):
            await ctx.host.storage.kv.set(KEYLESS, sorted(keyless))

    @hookimpl
    async def end_of_turn(self, ctx: Context, turn: Turn) -> None:
        """Store the turn's totals."""
        cost = ctx.stash.of(TurnCost)
        if not cost.requests:
            return
        if self.log.isEnabledFor(logging.INFO):
            line = cost.line(Prices.of(ctx.host))
            self.log.info("turn %s of session %s: %s", turn.id, turn.session.id, line)
        if self._turns is not None:
            self._turns.end(turn.id, cost, ctx.host.now())


def _is_copy(ctx: Context) -> bool:
    """Return whether this is the first turn of a copy of a session, such as a review.

    Most of them are answered at once, with nothing to save or with all calls. Writing what the
    first request adds to the session pays only if more than one in five is followed by another.
    """
    session = ctx.session
    if session.parent_id is None or session.resumed:
        return False
    return any(message.role == "assistant" for message in ctx.history)
