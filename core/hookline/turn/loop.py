"""A turn: from a person's message to the reply, one path for every way a turn can come about."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from hookline_hookspecs import Block, ContextBlock, Delta
from hookline_hookspecs.errors import NetworkError, Overloaded, ProviderError, StoreError
from hookline_hookspecs.messages import Message, TextBlock, ToolCall, ToolResultBlock
from hookline_hookspecs.origins import merge_origins
from hookline_hookspecs.questions import Question
from hookline_hookspecs.requests import ModelRequest, ModelResponse
from hookline_hookspecs.steps import Failure
from hookline_hookspecs.tool_results import ToolResult

from .. import clock
from ..bus.implementation import MiddlewareError, describe, error_text
from ..engine import Engine
from ..sessions.context import TurnContext
from ..sessions.history import drop_expired_context
from ..sessions.prompt import envelope, notices
from ..sessions.state import ActiveTurn, set_question
from ..tasks import finish_despite_cancel, uncancel
from ..text import clean, numbered
from .answer import sanitize_response
from .model_call import call_model, turn_request
from .tool_call import resolve_bridge, run_calls

log = logging.getLogger("hookline.turn")
PAUSES = (0.5, 2.0)
"""Seconds before a response that broke off is asked for again."""
STOPPED = "Interrupted: the person stopped the turn; the outcome of this call is unknown"


class EmptyAnswer(ProviderError):
    """The model said nothing, twice."""


async def run_turn(engine: Engine, turn: ActiveTurn, blocks: Sequence[Block]) -> None:
    """Run a new turn of a session that the caller owns. Errors end up in the turn's outcome."""
    state = turn.state
    ctx = TurnContext(engine, state, turn)

    async def begin() -> None:
        forgotten = drop_expired_context(state)
        await engine.bus.observe("start_of_turn", ctx, turn.snapshot())
        found = await engine.bus.collect("pre_prompt", ctx, turn.snapshot(), ContextBlock)
        turn.blocks = (*notices(state), *(block for _, block in found))
        carried = merge_origins(*[block.origins for block in turn.blocks])
        entry = turn.append(
            Message("user", (*state.take_steering(), *blocks), envelope(turn.blocks), carried)
        )
        creating, state.pending.creating = state.pending.creating, None
        first = [*([creating] if creating else ()), *forgotten]
        row = {
            "id": turn.id,
            "session_id": state.record.id,
            "inbox_id": turn.inbox_id,
            "now": clock.now(),
        }
        # What the store will say: the time, one turn more, no question.
        state.version = (
            row["now"],
            (state.version[1] if state.version else 0) + 1,
            None,
            state.model,
            None,
        )
        turn.track_write(engine.journal.begin_turn(row, entry.seq, entry.message, first))

    await run_lifecycle(ctx, begin)


async def run_lifecycle(ctx: TurnContext, begin: Callable[[], Awaitable[None]]) -> None:
    """Begin, loop, end: whatever happens in between, the turn ends and its history is complete."""
    turn = ctx.active_turn
    turn.task = asyncio.current_task()
    ctx.state.active = turn
    try:
        with ctx.activate():
            cancelled = await _work(ctx, begin)
            late = await finish_despite_cancel(_end(ctx))
    finally:
        ctx.state.active = None
    if cancelled or (late and not turn.stopping):
        raise asyncio.CancelledError
    error = turn.outcome.error.exception if turn.outcome.error else None
    if ctx.engine.strict and error is not None and not isinstance(error, ProviderError):
        raise error


async def _work(ctx: TurnContext, begin: Callable[[], Awaitable[None]]) -> bool:
    """Run everything up to the reply; return whether the turn was cancelled from outside."""
    turn, outcome = ctx.active_turn, ctx.active_turn.outcome
    try:
        await begin()
        if outcome.question is None and not outcome.reply:
            await _loop(ctx)
        outcome.stop = outcome.stop or ("question" if outcome.question else "done")
    except asyncio.CancelledError:
        if ctx.engine.closing:
            # The process is ending: the next one resumes the turn from the journal.
            raise
        outcome.stop, outcome.reply = (
            "stopped",
            append_to_partial("".join(turn.streamed), "Stopped."),
        )
        if not turn.stopping:
            return True
        uncancel(turn.task)
    except BaseException as error:
        await _failed(ctx, error)
    return False


async def _failed(ctx: TurnContext, error: BaseException) -> None:
    outcome = ctx.active_turn.outcome
    if not isinstance(error, Exception) or resumable_error(ctx.active_turn, error):
        raise resumable_error(ctx.active_turn, error) or error
    if isinstance(error, ProviderError):
        failure = Failure(error.kind, error_text(error), error)
    else:
        if not isinstance(error, MiddlewareError):
            log.error("turn %s failed", ctx.active_turn.id, exc_info=error)
        failure = Failure(
            "internal", (not ctx.engine.strict and error_text(error)) or describe(error), error
        )
    outcome.error, outcome.stop = failure, "budget" if failure.kind == "budget" else "error"
    outcome.reply = append_to_partial(
        error.partial if isinstance(error, ProviderError) else "", failure.text
    )
    await ctx.engine.bus.observe("on_error", ctx, failure)


def resumable_error(turn: ActiveTurn, error: BaseException | None) -> StoreError | None:
    """The store's error, if it failed a turn whose message is stored: the turn is resumed later.

    Where it has failed a plugin around the call, a turn that is resumed already is answered.
    """
    cause = error.__cause__ if isinstance(error, MiddlewareError) and not turn.resumed else error
    return cause if turn.inbox_id is not None and isinstance(cause, StoreError) else None


def append_to_partial(shown: str, text: str) -> str:
    """``text`` after what was shown of an answer, which so stays in the reply and the history."""
    return "\n\n".join(filter(None, [clean(shown).strip(), text]))


async def _loop(ctx: TurnContext) -> None:
    """Ask the model and run what it calls, until it answers."""
    engine, turn, state = ctx.engine, ctx.active_turn, ctx.state
    limit = engine.config.max_iterations
    while not turn.max_calls or turn.iterations < turn.max_calls:
        final = turn.iterations >= limit
        response = await _ask(ctx, turn_request(ctx, state.messages(), final=final))
        turn.iterations += 1
        asked = () if final else response.message.tool_calls
        calls = [resolve_bridge(ctx, call) for call in asked]
        await _record(ctx, _message_to_store(response, asked), calls, response)
        await engine.bus.observe("post_model", ctx, _with_calls(response, calls))
        if response.stop == "pause" and not calls and turn.iterations < limit:
            continue
        if final:
            turn.outcome.stop = "max_iterations"
        if not calls:
            turn.outcome.reply = response.text
            if response.stop in ("length", "context"):
                ctx.notify("The answer ends where the model's limit cut it off.", "core")
            if final or not state.pending.steering:
                return
            # What was said into the turn after its last step begins another step.
            _append(ctx, Message("user", tuple(state.take_steering())))
            continue
        await answer_calls(ctx, calls)
        if turn.outcome.question is not None:
            return
    turn.outcome.stop = "max_iterations"


async def _ask(ctx: TurnContext, request: ModelRequest) -> ModelResponse:
    """One response with content; an empty one is asked for once more."""
    turn = ctx.active_turn
    for _attempt in range(2):
        used = {call.id for entry in turn.entries for call in entry.message.tool_calls}
        response = sanitize_response(await _streamed(ctx, request), used)
        turn.usage = turn.usage + response.usage
        if response.text.strip() or response.message.tool_calls or response.stop == "pause":
            return response
        if response.stop == "refusal":
            return replace(response, blocks=(TextBlock("The model refused to answer."),))
        turn.track_write(
            ctx.engine.journal.record_usage(ctx.state.record.id, turn.id, "turn", response)
        )
    raise EmptyAnswer(
        f"{request.model} returned an empty answer twice; try again, or choose another model"
    )


async def _streamed(ctx: TurnContext, request: ModelRequest) -> ModelResponse:
    """Call the model; a response that breaks off is asked for again, after :data:`PAUSES`."""
    turn = ctx.active_turn
    for pause in (*PAUSES, None):
        turn.streamed.clear()
        try:
            response = await call_model(ctx, request)
            turn.streamed.clear()
            return response
        except (NetworkError, Overloaded):
            if pause is None or not turn.streamed:
                raise
        ctx.engine.bus.signals.send("delta", Delta("", "restart"), ctx)
        await asyncio.sleep(pause)
    raise AssertionError


def _with_calls(response: ModelResponse, calls: Sequence[ToolCall]) -> ModelResponse:
    """The response with these calls in place of its own of the same ids."""
    inner = {call.id: call for call in calls}
    blocks = [inner.get(b.id, b) if isinstance(b, ToolCall) else b for b in response.blocks]
    return replace(response, blocks=tuple(blocks))


def _message_to_store(response: ModelResponse, calls: Sequence[ToolCall]) -> Message:
    if calls or not response.message.tool_calls:
        return response.message
    text = tuple(b for b in response.blocks if not isinstance(b, ToolCall))
    return Message("assistant", text or (TextBlock("(no answer)"),))


async def _record(
    ctx: TurnContext, message: Message, calls: Sequence[ToolCall], response: ModelResponse
) -> None:
    engine, turn, session = ctx.engine, ctx.active_turn, ctx.state.record.id
    await turn.flush()  # usually done already; nothing may follow a message that was not stored
    entry = turn.append(message)
    steps = [(call, engine.tools.is_read_only(call.name)) for call in calls]
    turn.track_write(
        engine.journal.record_response(session, turn.id, entry.seq, message, steps, response)
    )
    # What only reads may be run again, so it need not wait until its call is stored.
    if not all(read_only for _, read_only in steps):
        await turn.flush()
    await turn.pass_point("after-model")


async def answer_calls(ctx: TurnContext, calls: Sequence[ToolCall]) -> None:
    """Run the calls that have no result yet and append all results, in the order of the calls."""
    turn = ctx.active_turn
    try:
        await run_calls(ctx, [call for call in calls if call.id not in turn.finished])
    finally:
        # A stopped turn has exactly one result for each call too; a turn that is resumed, by the
        # next process or once the store works, leaves its calls open.
        if not (ctx.engine.closing or resumable_error(turn, sys.exception())):
            _append_results(ctx, calls)


def _append(ctx: TurnContext, message: Message) -> None:
    turn, entry = ctx.active_turn, ctx.active_turn.append(message)
    turn.track_write(
        ctx.engine.journal.append_message(ctx.state.record.id, turn.id, entry.seq, message)
    )


def _append_results(ctx: TurnContext, calls: Sequence[ToolCall]) -> None:
    turn = ctx.active_turn
    for call in calls:
        if call.id not in turn.finished:
            turn.finish_call(ctx.engine.journal, ToolResult(call, STOPPED, ok=False))
    results = [turn.finished.pop(call.id) for call in calls]
    turn.results += results
    blocks: list[Block] = [
        ToolResultBlock(r.call.id, r.text, r.ok, r.images, r.origins) for r in results
    ]
    blocks += ctx.state.take_steering()
    for result in results:
        if isinstance(result.data, Question):
            turn.outcome.question = result.data
    _append(ctx, Message("user", tuple(blocks)))


async def _end(ctx: TurnContext) -> None:
    """End the turn; if that cannot be stored it is left open, for the next owner of the session."""
    try:
        await _complete(ctx)
    except Exception as error:
        await _failed(ctx, error)
        raise


async def _complete(ctx: TurnContext) -> None:
    """Complete the history, make the reply, and store it with the end of the turn."""
    engine, turn, state, outcome = ctx.engine, ctx.active_turn, ctx.state, ctx.active_turn.outcome
    unanswered = bool(turn.entries) and turn.entries[-1].message.role == "user"
    if unanswered or outcome.error is not None:
        await turn.flush()  # raises what was lost: a step may be stored although its commit failed
    if unanswered:
        _append(ctx, Message.assistant(_reply_text(ctx) or "(no answer)"))
    reply = turn.make_reply(_reply_text(ctx), outcome.question)
    outcome.reply = reply.text
    if outcome.stop != "error":
        reply = await engine.bus.pipeline("pre_reply", ctx, reply)
    outcome.reply, outcome.sent = reply.text, reply
    await turn.pass_point("before-reply")
    if outcome.question is not None:
        await set_question(engine.journal, state, outcome.question)
    row = {
        "id": turn.id,
        "session_id": state.record.id,
        "inbox_id": turn.inbox_id,
        "warm_until": state.warm_until,
    }
    row |= {"state": "failed" if outcome.stop == "error" else "done", "stop": outcome.stop}
    row |= {"iterations": turn.iterations, "error": outcome.error.text if outcome.error else None}
    row["last"] = turn.entries[-1].seq if turn.entries else None
    kept = reply if state.record.kind == "chat" else None
    try:
        outcome.claimed = await engine.journal.end_turn(
            row, kept, left_over=turn.left_over, direct=turn.direct
        )
    finally:
        await turn.flush()
    state.last_used = clock.now()


def _reply_text(ctx: TurnContext) -> str:
    outcome = ctx.active_turn.outcome
    return outcome.reply if outcome.question is None else numbered(outcome.question)
