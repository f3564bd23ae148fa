"""The one way to a model: ``pre_model``, ``around_model``, rendering, ``pre_send``, sending."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeAlias

from hookline_hookspecs import CachePrice, Delta, DeltaSink, Message, PluginFailure, crash
from hookline_hookspecs.events import ModelRequest, ModelResponse, PrefixBreak, Step, WireRequest

from .. import clock
from ..sessions.context import TurnContext
from ..sessions.prompt import envelope
from ..store.journal import dump

if TYPE_CHECKING:
    from ..bus.implementation import Implementation


async def call_model(ctx: TurnContext, request: ModelRequest) -> ModelResponse:
    """Send ``request`` through every hook and return the response.

    Raises:
        ProviderError: the provider could not answer.
        AroundFault: a plugin around the call failed by itself.
    """
    bus = ctx.runtime.bus
    keeper = _StableKeeper(ctx, request)
    given = request
    request = await bus.pipeline("pre_model", ctx, request, keeper.check)
    await keeper.freeze(request)
    request = await _place_context(ctx, given, request)
    sink = _sink(ctx) if request.purpose == "turn" else None

    async def send(asked: ModelRequest) -> ModelResponse:
        provider = ctx.runtime.providers.get(asked.model)
        wire = provider.render(asked)
        guard = _PrefixKeeper(ctx, wire)
        wire = await bus.pipeline("pre_send", ctx, wire, guard.step)
        broken = guard.remember(asked.model, wire) if asked.purpose == "turn" else None
        if ctx.running is not None:
            await ctx.running.at("before-model")
        started = perf_counter()
        failure: BaseException | None = None
        response: ModelResponse | None = None
        try:
            response = await provider.send(wire, sink)
            usage = response.usage.priced(getattr(provider, "cache_price", CachePrice()))
            model = response.model or asked.model
            response = replace(response, model=model, usage=usage, broken=broken)
            if asked.purpose == "turn":
                ctx.state.warm_until = clock.now() + wire.ttl
            return response
        except BaseException as error:
            failure = error
            raise
        finally:
            if bus.observers:
                seconds = perf_counter() - started
                step = Step("model", "core", "", wire, response, started, seconds, failure)
                bus.notify_observers(ctx, step)

    return await bus.around("around_model", ctx, request, send, ModelResponse)


def _sink(ctx: TurnContext) -> DeltaSink | None:
    """Where streamed pieces go: nowhere if nobody listens or a plugin may take words back."""
    runtime = ctx.runtime
    shown = runtime.bus.signals.has_receivers("delta") and not runtime.plugins.withholds_deltas()

    def show(delta: Delta) -> None:
        if shown:
            runtime.bus.signals.send("delta", delta, ctx)
        crash.point("mid-stream")

    return show if shown or crash.armed("mid-stream") else None


async def _place_context(
    ctx: TurnContext, given: ModelRequest, request: ModelRequest
) -> ModelRequest:
    """Where ``pre_model`` changed the turn's context blocks, render them into its message."""
    running = ctx.running
    if request.context is given.context or running is None or request.purpose != "turn":
        return request
    entry = running.user_entry
    text = envelope(request.context)
    changed = replace(entry.message, context=text)
    messages = tuple(changed if one is entry.message else one for one in request.messages)
    entry.message = changed
    running.blocks = request.context
    await ctx.runtime.journal.set_sidecar(ctx.state.record.id, entry.seq, text)
    return replace(request, messages=messages)


class _StableKeeper:
    """Keeps system prompt and tools as the session's first request had them."""

    def __init__(self, ctx: TurnContext, request: ModelRequest) -> None:
        self._ctx = ctx
        self._first = not ctx.state.frozen
        self._kept = (request.system, request.tools)
        self._applies = request.purpose == "turn"

    def check(
        self, implementation: Implementation, _before: ModelRequest, after: ModelRequest
    ) -> ModelRequest:
        """Put back what a step changed, and name its plugin; the first request may be changed."""
        if not self._applies or self._first or (after.system, after.tools) == self._kept:
            return after
        part = "system prompt" if after.system != self._kept[0] else "tools"
        _name_offender(self._ctx, implementation, part)
        return replace(after, system=self._kept[0], tools=self._kept[1])

    async def freeze(self, request: ModelRequest) -> None:
        """What the first request sends is what the session sends until it ends."""
        if not (self._applies and self._first):
            return
        self._ctx.state.frozen = True
        if (request.system, request.tools) != self._kept:
            await self._ctx.runtime.sessions.refreeze(self._ctx.state, request)


def _name_offender(ctx: TurnContext, implementation: Implementation, part: str) -> None:
    plugin = implementation.plugin
    told = f"tried to change the {part} in the middle of the session; the change was not sent"
    failure = PluginFailure(plugin, implementation.spec.name, f"it {told}")
    ctx.runtime.bus.signals.send("plugin_failed", failure, ctx)
    ctx.notify(f"Plugin {plugin} {told}. It can do so when the session starts.")


class _PrefixKeeper:
    """Keeps what was rendered of the stable tier, and knows when bytes that were sent before are
    not sent again, and who changed them."""

    def __init__(self, ctx: TurnContext, wire: WireRequest) -> None:
        self._ctx = ctx
        self._state = ctx.state
        self._rendered = wire.stable
        self._culprit = "core"

    def step(
        self, implementation: Implementation, before: WireRequest, after: WireRequest
    ) -> WireRequest:
        """Note the plugin that changed the prefix; the stable tier is put back."""
        if after.stable != self._rendered:
            after = replace(after, stable=self._rendered)
            _name_offender(self._ctx, implementation, "stable prompt")
        kept = after.fragments[: len(before.fragments)] == before.fragments
        if not kept or after.fields.get("system") != before.fields.get("system"):
            self._culprit = implementation.plugin
        return after

    def remember(self, model: str, wire: WireRequest) -> PrefixBreak | None:
        """Compare with the last request to the same model and keep this one for the next."""
        prefix = self._state.prefix
        system = dump(wire.fields.get("system")).encode()
        now = {**wire.stable, "system prompt of the call": system}, wire.fragments
        last = prefix.get(model)
        prefix[model] = now
        place = _first_difference(last, now) if last is not None else None
        if place is None:
            return None
        broken = PrefixBreak(place[0], self._culprit, *place[1:], model)
        prefix["broken"] = broken
        return broken


_Sent: TypeAlias = "tuple[dict[str, bytes], tuple[bytes, ...]]"


def _first_difference(last: _Sent, now: _Sent) -> tuple[str, int, int] | None:
    """Tier, number of the message and byte, or None if ``now`` only adds to ``last``."""
    for tier in ("tools", "system", *now[0]):
        old, new = last[0].get(tier, b""), now[0].get(tier, b"")
        if old != new:
            return tier, 0, _offset(old, new)
    if now[1][: len(last[1])] == last[1]:
        return None
    for number, old in enumerate(last[1], 1):
        new = now[1][number - 1] if number <= len(now[1]) else b""
        if old != new:
            return "history", number, _offset(old, new)
    return None


def _offset(old: bytes, new: bytes) -> int:
    pairs = enumerate(zip(old, new, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(old), len(new)))


def turn_request(ctx: TurnContext, messages: tuple[Message, ...], *, final: bool) -> ModelRequest:
    """The next request of the turn; the ``final`` one asks for an answer without tools."""
    state, running = ctx.state, ctx.at_work
    params: dict[str, Any] = {"tool_choice": "none"} if final else {}
    return ModelRequest(
        model=running.model or ctx.runtime.default_model(),
        system=state.stable.system,
        tools=state.stable.tools,
        messages=messages,
        context=running.blocks,
        params=params,
        ephemeral=running.inbound.system or "",
        session_id=state.record.id,
    )
