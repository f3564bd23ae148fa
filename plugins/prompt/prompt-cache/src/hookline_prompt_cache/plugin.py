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

from .cache_key import FIELD, cache_key, is_key_refused
from .cache_ttl import TTL_1H_SECONDS, TTL_5M_SECONDS, choose_ttl
from .config import PromptCacheConfig
from .plan import Mode, plan, takes_markers
from .prefix_size import PrefixSizeEstimate
from .providers import smallest_prefix, takes_cache_key
from .report import TurnCost, break_notice
from .turn_times import ChatTimes, TurnTable, TurnTimes


@dataclass
class _SentRequest:
    """A request being sent: ``size`` in bytes, ``keyed`` is the provider that got a cache key."""

    model: str = ""
    size: int = 0
    keyed: str = ""


_sending: ContextVar[_SentRequest | None] = ContextVar("hookline_prompt_cache", default=None)
"""The request that is being sent."""


Send: TypeAlias = Callable[[ModelRequest], Awaitable[ModelResponse]]
KEYLESS = "keyless"
"""The stored value that lists the providers whose servers refused a key."""


class PromptCache(Plugin[PromptCacheConfig]):
    """Keeps conversations in the provider's cache."""

    @hookimpl
    def setup(self, host: Host) -> None:
        """Prepare the records of turns."""
        self._turns: TurnTable | None = None
        self._keyless: set[str] | None = None
        self._times: WeakValueDictionary[str, TurnTimes] = WeakValueDictionary()
        try:
            self._turns = TurnTable(host)
        except HooklineError as error:
            self.log.info("turn times are not stored: %s", error)
        self._chats = ChatTimes(host, self._turns)

    @hookimpl
    async def teardown(self, host: Host) -> None:
        """Write the rows that wait."""
        if self._turns is not None:
            await self._turns.flush()

    @hookimpl
    async def start_of_turn(self, ctx: Context, turn: Turn) -> None:
        """Record when the turn started, and choose its TTL by the pauses so far."""
        if not self.config.enabled:
            return
        known = ctx.stash.session
        if "times" not in known:
            known["times"] = await self._read_times(
                turn.session.id if turn.session.resumed else None
            )
            self._times[turn.session.id] = known["times"]
            await self._chats.start(turn.session, known["times"])
            if _is_copy(ctx):
                parent = turn.session.parent_id
                original = self._times.get(parent or "") or await self._read_times(parent)
                ctx.stash["cold"] = original.is_cold(ctx.host.now())
        times: TurnTimes = known["times"]
        now = ctx.host.now()
        times.start(turn.id, now)
        ctx.stash["mode"] = choose_ttl(times.pauses(), CachePrice())
        if self._turns is not None:
            self._turns.start(turn.id, turn.session, now)

    async def _read_times(self, session_id: str | None) -> TurnTimes:
        """Return what is stored of a session."""
        if self._turns is None or session_id is None:
            return TurnTimes()
        return await self._turns.read(session_id)

    @hookimpl
    def around_model(self, ctx: Context, request: ModelRequest) -> Any:
        """Count the request's tokens, and send it again where its key was refused."""
        if not self.config.enabled:
            return None

        async def count(request: ModelRequest, call_next: Send) -> ModelResponse:
            sending = _SentRequest()
            token = _sending.set(sending)
            try:
                response = await self._send(ctx, request, call_next, sending)
            finally:
                _sending.reset(token)
            if request.purpose == "turn":
                self._count(ctx, response, sending)
            return response

        return count

    async def _send(
        self, ctx: Context, request: ModelRequest, call_next: Send, sending: _SentRequest
    ) -> ModelResponse:
        """Return the response; if the server rejects the cache key, retry without it."""
        try:
            return await call_next(request)
        except BadRequest as error:
            if not sending.keyed or not is_key_refused(error):
                raise
            self.log.info("provider %s refuses %s; it is left out", sending.keyed, FIELD)
            keyless = await self._without_key(ctx)
            keyless.add(sending.keyed)
            sending.keyed = ""
            await self._store_keyless(ctx, keyless)
            return await call_next(request)

    def _count(self, ctx: Context, response: ModelResponse, sending: _SentRequest) -> None:
        now = ctx.host.now()
        ctx.stash.of(TurnCost).add(response, now)
        known = ctx.stash.session
        estimate: PrefixSizeEstimate = known.setdefault("estimate", PrefixSizeEstimate())
        estimate.record(sending.model, sending.size, response.usage.input)
        times: TurnTimes = known.setdefault("times", TurnTimes())
        times.record_response(ctx.turn.id, now)
        broken = response.broken
        if broken is not None and broken.plugin != "core" and broken.plugin not in times.reported:
            times.reported.add(broken.plugin)
            ctx.notify(break_notice(broken))

    @hookimpl
    async def pre_send(self, ctx: Context, wire: WireRequest) -> WireRequest | None:
        """Set the markers, or the cache key where the wire has no markers."""
        sending = _sending.get() or _SentRequest()
        if not self.config.enabled or wire.purpose == "auxiliary":
            return None  # A request that is sent once is not worth caching.
        sending.model = wire.model
        sending.size = sum(map(len, (*wire.stable.values(), *wire.fragments)))
        if takes_markers(wire):
            return self._marked(ctx, wire) if self.config.markers else None
        if not await self._needs_key(ctx, wire):
            return None
        sending.keyed = wire.provider
        return replace(wire, fields={**wire.fields, FIELD: cache_key(wire, ctx.session)})

    def _marked(self, ctx: Context, wire: WireRequest) -> WireRequest:
        fixed = self.config.ttl
        mode: Mode = ctx.stash.get("mode", "5m") if fixed == "auto" else fixed
        tokens = self.config.smallest_prefix or smallest_prefix(wire.model)
        estimate: PrefixSizeEstimate = ctx.stash.session.setdefault(
            "estimate", PrefixSizeEstimate()
        )
        smallest = estimate.min_bytes(wire.model, tokens)
        last = not ctx.stash.of(TurnCost).requests and _is_copy(ctx)
        cold = last and ctx.stash.get("cold", False)
        markers = plan(wire, mode, smallest, last=last, cold=cold)
        long = any(marker.ttl == "1h" for marker in markers)
        return replace(wire, markers=markers, ttl=TTL_1H_SECONDS if long else TTL_5M_SECONDS)

    async def _needs_key(self, ctx: Context, wire: WireRequest) -> bool:
        setting = self.config.cache_key
        if setting == "never" or FIELD in wire.fields:
            return False
        if setting == "always":
            return True
        known = takes_cache_key(wire.provider)
        return known and wire.provider not in await self._without_key(ctx)

    async def _without_key(self, ctx: Context) -> set[str]:
        """Return the providers whose servers refused a key, also in earlier processes."""
        if self._keyless is None:
            self._keyless = set()
            with suppress(HooklineError):
                self._keyless |= set(await ctx.host.storage.kv.get(KEYLESS, []))
        return self._keyless

    async def _store_keyless(self, ctx: Context, keyless: set[str]) -> None:
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

    Most of them end with their first response. Writing what the first request adds to the cache
    pays only if more than one in five is followed by another.
    """
    session = ctx.session
    if session.parent_id is None or session.resumed:
        return False
    return any(message.role == "assistant" for message in ctx.history)
