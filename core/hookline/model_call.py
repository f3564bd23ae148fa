"""The one way to a model: ``pre_model``, ``around_model``, rendering, ``pre_send``, sending."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import Delta, Message, ModelRequest, ModelResponse, WireRequest, crash
from hookline_hookspecs.drivers import DeltaSink

from .context import TurnContext
from .prompt import envelope

if TYPE_CHECKING:
    from .implementations import Implementation
    from .session import SessionState


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
        guard = _PrefixKeeper(ctx.state, wire)
        wire = await bus.pipeline("pre_send", ctx, wire, guard.step)
        if asked.purpose == "turn":
            guard.remember(asked.model, wire)
        if ctx.running is not None:
            await ctx.running.at("before-model")
        response = await provider.send(wire, sink)
        return response if response.model else replace(response, model=asked.model)

    return await bus.around("around_model", ctx, request, send, ModelResponse)


def _sink(ctx: TurnContext) -> DeltaSink | None:
    """Where streamed pieces go: nowhere if nobody listens or a plugin may take words back."""
    runtime = ctx.runtime
    if crash.armed("mid-stream"):
        return lambda _delta: crash.point("mid-stream")
    if not runtime.bus.signals.heard("delta") or runtime.plugins.withholds_deltas():
        return None

    def show(delta: Delta) -> None:
        runtime.bus.signals.send("delta", delta, ctx)

    return show


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
    messages = tuple(
        changed if message is entry.message else message for message in request.messages
    )
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
        self._ctx.state.prefix["offender"] = (implementation.plugin, part)
        self._ctx.notify(
            f"Plugin {implementation.plugin} tried to change the {part} in the middle of the "
            f"session; the change was not sent. It can change them when a session starts."
        )
        return replace(after, system=self._kept[0], tools=self._kept[1])

    async def freeze(self, request: ModelRequest) -> None:
        """What the first request sends is what the session sends until it ends."""
        if not (self._applies and self._first):
            return
        self._ctx.state.frozen = True
        if (request.system, request.tools) != self._kept:
            await self._ctx.runtime.sessions.refreeze(self._ctx.state, request)


class _PrefixKeeper:
    """Knows when bytes that were sent before are not sent again, and who changed them."""

    def __init__(self, state: SessionState, wire: WireRequest) -> None:
        self._state = state
        self._culprit = "core"

    def step(
        self, implementation: Implementation, before: WireRequest, after: WireRequest
    ) -> WireRequest:
        """Note the plugin that replaced a fragment."""
        kept = after.fragments[: len(before.fragments)] == before.fragments
        if not kept or after.stable != before.stable:
            self._culprit = implementation.plugin
        return after

    def remember(self, model: str, wire: WireRequest) -> None:
        """Compare with the last request to the same model and keep this one for the next."""
        prefix = self._state.prefix
        last: Mapping[str, Any] = prefix.get(model) or {}
        broken = _first_difference(last, wire)
        if broken is not None:
            prefix["broken"] = {"tier": broken, "plugin": self._culprit, "model": model}
        prefix[model] = {"stable": wire.stable, "fragments": wire.fragments}


def _first_difference(last: Mapping[str, Any], wire: WireRequest) -> str | None:
    if not last:
        return None
    if dict(last["stable"]) != dict(wire.stable):
        return "stable"
    before: tuple[bytes, ...] = last["fragments"]
    if wire.fragments[: len(before)] == before:
        return None
    pairs = enumerate(zip(before, wire.fragments, strict=False))
    index = next((i for i, (old, new) in pairs if old != new), len(wire.fragments))
    return f"history, message {index + 1}"


def turn_request(ctx: TurnContext, messages: tuple[Message, ...], *, final: bool) -> ModelRequest:
    """The next request of the turn; the ``final`` one asks for an answer without tools."""
    state, running = ctx.state, ctx.running
    assert running is not None
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
