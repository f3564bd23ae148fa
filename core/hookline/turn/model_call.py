"""The one way to a model: ``pre_model``, ``around_model``, rendering, ``pre_send``, sending."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter
from typing import Any

from hookline_hookspecs import Delta, DeltaSink, Message, crash
from hookline_hookspecs.requests import ModelRequest, ModelResponse
from hookline_hookspecs.steps import Step

from .. import clock
from ..sessions.context import TurnContext
from ..sessions.prompt import envelope
from .answer import require_complete, sanitize_response
from .prefix import PrefixKeeper, StableKeeper


async def call_model(ctx: TurnContext, request: ModelRequest) -> ModelResponse:
    """Send ``request`` through every hook and return the response.

    Raises:
        ProviderError: the provider could not answer.
        MiddlewareError: a plugin around the call failed by itself.
    """
    bus = ctx.engine.bus
    keeper, given = StableKeeper(ctx, request), request
    request = await bus.pipeline("pre_model", ctx, request, keeper.check)
    await keeper.freeze(request)
    request = await _place_context(ctx, given, request)
    sink = _sink(ctx, answers=request.purpose == "turn")

    async def send(asked: ModelRequest) -> ModelResponse:
        provider = ctx.engine.providers.get(asked.model)
        wire = replace(provider.render(asked), purpose=asked.purpose)
        guard = PrefixKeeper(ctx, wire)
        wire = await bus.pipeline("pre_send", ctx, wire, guard.check)
        broken = guard.remember(asked.model, wire) if asked.purpose == "turn" else None
        if ctx.active is not None:
            await ctx.active.pass_point("before-model")
        started = perf_counter()
        failure: BaseException | None = None
        response: ModelResponse | None = None
        try:
            answer = await provider.send(wire, sink)
            if ctx.active is not None:
                ctx.active.streamed.append("")
            response = require_complete(asked.model, answer)
            usage = response.usage.priced(provider.cache_price)
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


def _sink(ctx: TurnContext, *, answers: bool) -> DeltaSink:
    """Where streamed pieces go. They are shown unless a plugin may still change the reply.

    Of a request beside the turn's own only the waits are, as long as a person waits too.
    """
    withheld = not answers or ctx.engine.bus.must_buffer_reply()
    waited = (
        answers
        or ctx.message is not None
        or (ctx.active is not None and not ctx.active.outcome.stop)
    )

    def show(delta: Delta) -> None:
        if answers and delta.kind != "waiting":
            ctx.active_turn.streamed.append(delta.text if delta.kind == "text" else "")
        if waited if delta.kind == "waiting" else not withheld:
            ctx.engine.bus.signals.send("delta", delta, ctx)
        crash.point("mid-stream")

    return show


async def _place_context(
    ctx: TurnContext, given: ModelRequest, request: ModelRequest
) -> ModelRequest:
    """Where ``pre_model`` changed the turn's context blocks, render them into its message."""
    turn = ctx.active
    if request.context is given.context or turn is None or request.purpose != "turn":
        return request
    entry, text = turn.user_entry, envelope(request.context)
    changed = replace(entry.message, context=text)
    messages = tuple(changed if one is entry.message else one for one in request.messages)
    entry.message, turn.blocks = changed, request.context
    await ctx.engine.journal.set_sidecar(ctx.state.record.id, entry.seq, text)
    return replace(request, messages=messages)


def turn_request(ctx: TurnContext, messages: tuple[Message, ...], *, final: bool) -> ModelRequest:
    """The next request of the turn; the ``final`` one asks for an answer without tools."""
    state, turn = ctx.state, ctx.active_turn
    params: dict[str, Any] = {"tool_choice": "none"} if final else {}
    stable, model = state.stable, turn.model or ctx.engine.providers.default_model()
    request = ModelRequest(model, stable.system, stable.tools, messages, turn.blocks, params)
    return replace(request, ephemeral=turn.inbound.system or "", session_id=state.record.id)


async def ask_auxiliary(
    ctx: TurnContext,
    prompt: str,
    *,
    system: str | None = None,
    schema: Mapping[str, Any] | None = None,
    max_tokens: int | None = None,
) -> str:
    """Ask the auxiliary model once; the session of ``ctx`` is charged (``Context.ask_model``)."""
    config, session = ctx.engine.config, ctx.state.record.id
    model = config.auxiliary_model or ctx.state.model or ctx.engine.providers.default_model()
    options = {"schema": schema, "max_tokens": max_tokens}
    request = ModelRequest(
        model=model,
        system=system or "",
        tools=(),
        messages=(Message.user(prompt),),
        params={"stream": False, **{k: v for k, v in options.items() if v is not None}},
        session_id=session,
        purpose="auxiliary",
    )
    response = await call_model(ctx, request)
    await ctx.engine.journal.record_usage(
        session, ctx.active.id if ctx.active else "", "auxiliary", response
    )
    return sanitize_response(response).text
