"""Calls a model: runs the hooks, renders the request and sends it to the provider."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import replace
from time import perf_counter
from typing import Any, cast, get_args

from hookline_hookspecs import Delta, DeltaSink, Message, crash
from hookline_hookspecs.errors import BadRequest, NetworkError, ProviderError
from hookline_hookspecs.messages import Block, ProviderState, TextBlock, ThinkingBlock, ToolCall
from hookline_hookspecs.requests import ModelRequest, ModelResponse, ModelStop
from hookline_hookspecs.steps import Step
from hookline_hookspecs.visible_text import spell_out

from .. import clock
from ..bus.bus import MissingGuard
from ..sessions.context import TurnContext
from ..sessions.prompt import envelope
from ..text import clean_json, new_id
from .prefix import StablePromptCheck, WirePrefixCheck

MAX_TOOL_CALLS = 256
"""Maximum number of tool calls in a response."""
MAX_RESPONSE_CHARS = 4_000_000
"""Maximum number of characters of text and thinking in a response."""
AUXILIARY_RETRY_SECONDS = 30.0
"""Seconds after a temporary failure during which a request outside the conversation is sent again:
work in the background should not follow an outage for minutes."""
_COMPLETE = frozenset(get_args(ModelStop)) - {"incomplete"}


def turn_request(ctx: TurnContext, messages: tuple[Message, ...], *, final: bool) -> ModelRequest:
    """The next request of the turn; the ``final`` one asks for an answer without tools."""
    state, turn = ctx.state, ctx.active_turn
    return ModelRequest(
        model=turn.model or ctx.engine.providers.default_model(),
        system=state.stable.system,
        tools=state.stable.tools,
        messages=messages,
        context=turn.blocks,
        params={"tool_choice": "none"} if final else {},
        ephemeral=turn.inbound.system or "",
        session_id=state.record.id,
    )


async def ask_auxiliary(
    ctx: TurnContext,
    prompt: str,
    *,
    system: str | None = None,
    schema: Mapping[str, Any] | None = None,
    max_tokens: int | None = None,
) -> str:
    """Ask the auxiliary model once and charge the session of ``ctx`` (``Context.ask_model``)."""
    config, session_id = ctx.engine.config, ctx.state.record.id
    options = {"schema": schema, "max_tokens": max_tokens}
    request = ModelRequest(
        model=config.auxiliary_model or ctx.state.model or ctx.engine.providers.default_model(),
        system=system or "",
        tools=(),
        messages=(Message.user(prompt),),
        params={"stream": False, **{k: v for k, v in options.items() if v is not None}},
        session_id=session_id,
        purpose="auxiliary",
    )
    response = await call_model(ctx, request)
    turn_id = ctx.active.id if ctx.active else ""
    await ctx.engine.journal.record_usage(session_id, turn_id, "auxiliary", response)
    return sanitize_response(response).text


async def call_model(ctx: TurnContext, request: ModelRequest) -> ModelResponse:
    """Send ``request`` through every hook and return the response.

    Raises:
        ProviderError: the provider could not answer.
        MissingGuard: a guard is on in config but failed to load.
        MiddlewareError: a middleware failed, not the call inside it.
    """
    bus = ctx.engine.bus
    if (missing := await bus.missing_guard()) is not None:
        raise MissingGuard(missing[1])
    stable_check = StablePromptCheck(ctx, request)
    original_context = request.context
    request = await bus.pipeline("pre_model", ctx, request, stable_check.check)
    await stable_check.freeze(request)
    if request.context is not original_context:
        request = await _store_changed_context(ctx, request)
    sink = _delta_sink(ctx, answers=request.purpose == "turn")

    async def send(request: ModelRequest) -> ModelResponse:
        provider = ctx.engine.providers.get(request.model)
        retry_seconds = request.retry_seconds
        if retry_seconds is None and request.purpose != "turn":
            retry_seconds = AUXILIARY_RETRY_SECONDS
        wire = replace(
            provider.render(request), purpose=request.purpose, retry_seconds=retry_seconds
        )
        prefix_check = WirePrefixCheck(ctx, wire)
        wire = await bus.pipeline("pre_send", ctx, wire, prefix_check.check)
        is_turn = request.purpose == "turn"
        broken = prefix_check.remember(request.model, wire) if is_turn else None
        if ctx.active is not None:
            await ctx.active.pass_point("before-model")
        started = perf_counter()
        failure: BaseException | None = None
        response: ModelResponse | None = None
        try:
            answer = await provider.send(wire, sink)
            if ctx.active is not None:
                ctx.active.streamed.append("")
            response = require_complete(request.model, answer)
            usage = response.usage.priced(provider.cache_price)
            model = response.model or request.model
            response = replace(response, model=model, usage=usage, broken=broken)
            if is_turn:
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


async def _store_changed_context(ctx: TurnContext, request: ModelRequest) -> ModelRequest:
    """Update the turn's message, also in the store, if ``pre_model`` changed context blocks."""
    turn = ctx.active
    if turn is None or request.purpose != "turn":
        return request
    entry, text = turn.user_entry, envelope(request.context)
    changed = replace(entry.message, context=text)
    messages = tuple(changed if m is entry.message else m for m in request.messages)
    entry.message, turn.blocks = changed, request.context
    await ctx.engine.journal.set_sidecar(ctx.state.record.id, entry.seq, text)
    return replace(request, messages=messages)


def _delta_sink(ctx: TurnContext, *, answers: bool) -> DeltaSink:
    """Return the receiver of a response's streamed pieces.

    ``answers`` is True for a request whose response is the turn's answer. Its pieces are shown,
    unless a plugin may still change the reply. For other requests only ``waiting`` is shown, and
    only while a person waits for the answer.
    """
    shows_text = answers and not ctx.engine.bus.must_buffer_reply()
    in_turn = ctx.active is not None and not ctx.active.outcome.stop
    shows_waiting = answers or ctx.message is not None or in_turn

    def receive(delta: Delta) -> None:
        if delta.kind == "notice":
            if shows_waiting:
                ctx.notify(delta.text)
            return
        is_waiting = delta.kind == "waiting"
        if answers and not is_waiting:
            ctx.active_turn.streamed.append(delta.text if delta.kind == "text" else "")
        if shows_waiting if is_waiting else shows_text:
            ctx.engine.bus.signals.send("delta", delta, ctx)
        crash.point("mid-stream")

    return receive


def require_complete(model: str, response: ModelResponse) -> ModelResponse:
    """Return the response if it is complete and within the limits.

    Raises:
        NetworkError: it broke off; ``partial`` holds its text.
        BadRequest: it is too large; ``partial`` holds the beginning of its text.
    """
    calls = len(response.message.tool_calls)
    prose = [b.text for b in response.blocks if isinstance(b, (TextBlock, ThinkingBlock))]
    error: ProviderError
    if response.stop not in _COMPLETE:
        error = NetworkError(
            f"the answer of {model} broke off before its end; try again with /retry"
        )
    elif calls > MAX_TOOL_CALLS or sum(map(len, prose)) > MAX_RESPONSE_CHARS:
        error = BadRequest(
            f"the answer of {model} is too large ({calls} tool calls); choose another model"
        )
    else:
        return response
    error.partial = response.text[:MAX_RESPONSE_CHARS]
    raise error


def sanitize_response(response: ModelResponse, used: Set[str] = frozenset()) -> ModelResponse:
    """Return the response with storable text and with tool call ids that are not in ``used``."""
    seen = set(used)

    def sanitize(block: Any) -> Block:
        names = [name for name in block.__slots__ if name not in ("origins", "state")]
        try:
            clean: Any = replace(
                block, **{name: clean_json(getattr(block, name)) for name in names}
            )
        except ValueError as error:
            reason = f"the arguments {error}; send the call again"
            return sanitize(replace(block, arguments={}, error=reason))
        if isinstance(clean, (TextBlock, ThinkingBlock, ToolCall)) and clean.state is not None:
            clean = replace(clean, state=_sanitize_state(clean.state))
        if isinstance(clean, ToolCall):
            if not clean.id.isprintable():  # ids are shown, logged and sent to other programs
                clean = replace(clean, id=spell_out(clean.id))
            if not clean.id or clean.id in seen:
                clean = replace(clean, id=f"call_{new_id()}")
            seen.add(clean.id)
        elif isinstance(clean, ThinkingBlock) and clean != block:
            # The provider would reject the signature of changed text, so the signature is dropped.
            return ThinkingBlock(clean.text)
        return cast("Block", clean)

    return replace(response, blocks=tuple(map(sanitize, response.blocks)))


def _sanitize_state(state: ProviderState) -> ProviderState:
    """Return what a server attached to a block, without data that cannot be stored unchanged."""
    try:
        intact = clean_json(state.data) == state.data
    except ValueError:  # nested too deep
        intact = False
    return state if intact else replace(state, data={})
