"""A turn: from a person's message to the reply, one path for every way a turn can come about."""

from __future__ import annotations

import asyncio
import copy
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import Block, ContextBlock, crash
from hookline_hookspecs.errors import ProviderError
from hookline_hookspecs.events import Failure, ModelResponse, Question, Reply, ToolResult, Turn
from hookline_hookspecs.messages import Message, TextBlock, ToolCall, ToolResultBlock

from .. import clock
from ..bus.implementation import describe
from ..bus.middleware import AroundFault
from ..sessions.context import TurnContext, current
from ..sessions.history import forget_cold_context
from ..sessions.prompt import envelope
from ..sessions.state import notices, session_version
from ..store.journal import new_id
from ..store.questions import numbered
from ..text import clean, clean_arguments
from ..turn.model_call import call_model, turn_request
from ..turn.tool_call import run_calls

if TYPE_CHECKING:
    from ..runtime import Runtime
    from ..sessions.active_turn import Running

log = logging.getLogger("hookline.turn")
STOPPED = "Interrupted: the person stopped the turn; the outcome of this call is unknown"
UNKNOWN = (
    "Interrupted: the process died while this ran; the outcome is unknown, check before you go on"
)


class EmptyAnswer(ProviderError):
    """The model said nothing, twice."""


async def run_turn(runtime: Runtime, running: Running, blocks: Sequence[Block]) -> Turn:
    """Run a new turn of a session that the caller owns. Errors end up in the turn, not here."""
    ctx = TurnContext(runtime, running.state, running)
    state = running.state

    async def begin() -> None:
        forgotten = forget_cold_context(state)
        await runtime.bus.observe("start_of_turn", ctx, running.snapshot())
        found = await runtime.bus.collect("pre_prompt", ctx, running.snapshot(), ContextBlock)
        running.blocks = (*notices(state), *(block for _, block in found))
        late, state.steering = [TextBlock(text) for text in state.steering], []
        user = Message("user", (*late, *blocks), envelope(running.blocks))
        entry = running.say(user)
        creating, state.creating = state.creating, None
        running.later(
            runtime.journal.begin_turn(
                running.id,
                state.record.id,
                running.inbox_id,
                entry.seq,
                user,
                first=[*([creating] if creating else ()), *forgotten],
            )
        )

    return await _carry(ctx, begin)


async def resume_turn(
    runtime: Runtime, running: Running, steps: Mapping[str, Mapping[str, Any]]
) -> Turn:
    """Take a turn up again after the process died, from its last journalled step.

    Finished calls keep their results; started ones are reported as interrupted unless they only
    read; those that never started are run.
    """
    ctx = TurnContext(runtime, running.state, running)

    async def begin() -> None:
        await runtime.bus.observe("start_of_turn", ctx, running.snapshot())
        running.question = running.state.question  # cleared as a turn begins, so it is its own
        last = running.entries[-1].message
        if last.role != "assistant":
            return
        if not last.tool_calls:
            running.reply = last.text
            return
        for call in last.tool_calls:
            step = steps.get(call.id)
            if step is not None and step["state"] == "finished":
                text = step["result"] or ""
                running.finished[call.id] = ToolResult(call, text, ok=bool(step["ok"]))
            elif step is not None and step["state"] == "started" and not step["read_only"]:
                running.finish(runtime.journal, ToolResult(call, UNKNOWN, ok=False))
        await _answer_calls(ctx, last.tool_calls)

    return await _carry(ctx, begin)


async def _carry(ctx: TurnContext, begin: Callable[[], Awaitable[None]]) -> Turn:
    """Begin, loop, end: whatever happens in between, the turn ends and history stays whole."""
    running = ctx.at_work
    running.task = asyncio.current_task()
    ctx.state.running = running
    token = current.set(ctx)
    try:
        cancelled = await _work(ctx, begin)
        late = await _surely(_end(ctx))
    finally:
        ctx.state.running = None
        current.reset(token)
    if cancelled or (late and not running.stopping):
        raise asyncio.CancelledError
    error = running.error.exception if running.error else None
    if ctx.runtime.strict and error is not None and not isinstance(error, ProviderError):
        raise error
    return running.snapshot()


async def _work(ctx: TurnContext, begin: Callable[[], Awaitable[None]]) -> bool:
    """Everything up to the reply; True if the turn was cancelled from outside of it."""
    running = ctx.at_work
    try:
        await begin()
        if running.question is None and not running.reply:
            await _loop(ctx)
        running.stop = running.stop or ("question" if running.question else "done")
    except asyncio.CancelledError:
        if ctx.runtime.closing:
            # The process is going away: the next one takes the turn up from the journal.
            raise
        running.stop = "stopped"
        running.reply = "Stopped."
        if not running.stopping:
            return True
        _uncancel(running.task)
    except BaseException as error:
        await _failed(ctx, error)
    return False


async def _surely(work: Coroutine[Any, Any, None]) -> bool:
    """Wait for ``work`` to its end, whoever cancels meanwhile; True if somebody did."""
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            cancelled = not task.done() or task.cancelled()
    task.result()
    if cancelled:
        _uncancel(asyncio.current_task())
    return cancelled


def _uncancel(task: asyncio.Task[Any] | None) -> None:
    while task is not None and task.cancelling():
        task.uncancel()


async def _failed(ctx: TurnContext, error: BaseException) -> None:
    running = ctx.at_work
    if not isinstance(error, Exception):
        raise error
    if isinstance(error, ProviderError):
        running.error = Failure(error.kind, str(error), error)
    else:
        if not isinstance(error, AroundFault):
            log.error("turn %s failed", running.id, exc_info=error)
        running.error = Failure("internal", str(error) or describe(error), error)
        if ctx.runtime.strict:
            running.error = Failure("internal", describe(error), error)
    running.stop = "budget" if running.error.kind == "budget" else "error"
    running.reply = running.error.text
    await ctx.runtime.bus.observe("on_error", ctx, running.error)


async def _loop(ctx: TurnContext) -> None:
    """Ask the model, run what it calls, until it answers."""
    runtime, running, state = ctx.runtime, ctx.at_work, ctx.state
    limit = runtime.config.max_iterations
    while state.max_iterations is None or running.iterations < state.max_iterations:
        final = running.iterations >= limit
        request = turn_request(ctx, state.messages(), final=final)
        response = await _ask(ctx, request)
        running.iterations += 1
        calls = () if final else response.message.tool_calls
        message = _kept(response, calls)
        await _journal_response(ctx, message, calls, response)
        await runtime.bus.observe("post_model", ctx, _shown(response))
        if response.stop == "pause" and not calls and running.iterations < limit:
            continue
        if final:
            running.stop = "max_iterations"
        if not calls:
            running.reply = response.text
            if final or not state.steering:
                return
            _say_steering(ctx)
            continue
        await _answer_calls(ctx, calls)
        if running.question is not None:
            return
    running.stop = "max_iterations"


async def _ask(ctx: TurnContext, request: Any) -> ModelResponse:
    """One response with something in it; an empty one is asked for once more."""
    running = ctx.at_work
    for _attempt in range(2):
        response = await call_model(ctx, request)
        said = [entry.message for entry in running.entries]
        response = _distinct(response, {c.id for message in said for c in message.tool_calls})
        running.usage = running.usage + response.usage
        if response.text.strip() or response.message.tool_calls or response.stop == "pause":
            return response
        if response.stop == "refusal":
            return replace(response, blocks=(TextBlock("The model refused to answer."),))
        running.later(ctx.runtime.journal.spend(ctx.state.record.id, running.id, "turn", response))
    raise EmptyAnswer(
        f"{request.model} returned an empty answer twice; try again, or choose another model"
    )


def _distinct(response: ModelResponse, used: set[str]) -> ModelResponse:
    """The response with an id of its own for each tool call, and text that can be stored."""
    seen = set(used)
    blocks: list[Block] = []
    for block in response.blocks:
        if isinstance(block, ToolCall):
            if not block.id or block.id in seen:
                block = replace(block, id=f"call_{new_id()}")
            seen.add(block.id)
            arguments = clean_arguments(block.arguments)
            block = replace(block, name=clean(block.name), arguments=arguments)
        elif isinstance(block, TextBlock):
            block = TextBlock(clean(block.text))
        blocks.append(block)
    return replace(response, blocks=tuple(blocks))


def _shown(response: ModelResponse) -> ModelResponse:
    """A copy, so that nobody changes the arguments of what is about to run."""
    return replace(response, blocks=tuple(copy.deepcopy(block) for block in response.blocks))


def _kept(response: ModelResponse, calls: Sequence[ToolCall]) -> Message:
    if calls or not response.message.tool_calls:
        return response.message
    text = tuple(b for b in response.blocks if not isinstance(b, ToolCall))
    return Message("assistant", text or (TextBlock("(no answer)"),))


async def _journal_response(
    ctx: TurnContext, message: Message, calls: Sequence[ToolCall], response: ModelResponse
) -> None:
    runtime, running, state = ctx.runtime, ctx.at_work, ctx.state
    await running.settle()  # long since done; nothing may follow a message that was not stored
    entry = running.say(message)
    steps = []
    for call in calls:
        tool = runtime.tools.get(call.name)
        steps.append((call, tool is not None and tool.read_only))
    running.later(
        runtime.journal.respond(state.record.id, running.id, entry.seq, message, steps, response)
    )
    # What only reads may be run again, so it need not wait until its journal is on disk.
    if not all(read_only for _, read_only in steps):
        await running.settle()
    await running.at("after-model")


async def _answer_calls(ctx: TurnContext, calls: Sequence[ToolCall]) -> None:
    """Run what has no result yet and say all results, in the order of the calls."""
    running = ctx.at_work
    try:
        open_calls = [call for call in calls if call.id not in running.finished]
        await run_calls(ctx, open_calls)
    finally:
        # A cancelled turn too leaves exactly one result for each call; one that the next process
        # takes up leaves its calls open.
        if not ctx.runtime.closing:
            _say_results(ctx, calls)


def _say_steering(ctx: TurnContext) -> None:
    """What was said into the turn after its last step begins another step."""
    running, state = ctx.at_work, ctx.state
    texts, state.steering = state.steering, []
    entry = running.say(Message("user", tuple(TextBlock(text) for text in texts)))
    running.later(ctx.runtime.journal.say(state.record.id, running.id, entry.seq, entry.message))


def _say_results(ctx: TurnContext, calls: Sequence[ToolCall]) -> None:
    runtime, running, state = ctx.runtime, ctx.at_work, ctx.state
    for call in calls:
        if call.id not in running.finished:
            running.finish(runtime.journal, ToolResult(call, STOPPED, ok=False))
    results = [running.finished.pop(call.id) for call in calls]
    running.results += results
    blocks: list[Block] = [ToolResultBlock(r.call.id, r.text, r.ok, r.images) for r in results]
    steering, state.steering = state.steering, []
    blocks += [TextBlock(text) for text in steering]
    for result in results:
        if isinstance(result.data, Question):
            running.question = result.data
    entry = running.say(Message("user", tuple(blocks)))
    running.later(runtime.journal.say(state.record.id, running.id, entry.seq, entry.message))


async def _end(ctx: TurnContext) -> None:
    """Store the reply and the end of the turn, then let the background hooks run."""
    runtime, running, state = ctx.runtime, ctx.at_work, ctx.state
    await _close_history(ctx)
    reply = Reply(
        state.record,
        running.reply if running.question is None else numbered(running.question),
        in_reply_to=running.inbound.message_id,
        id=f"{running.id}-reply",
        choices=running.question.choices if running.question else (),
    )
    running.reply = reply.text
    if running.stop != "error":
        reply = await runtime.bus.pipeline("pre_reply", ctx, reply)
        running.reply = reply.text
    running.sent = reply
    crash.point("before-reply")
    if running.question is not None:
        await runtime.sessions.set_question(state, running.question)
    row = await runtime.journal.end_turn(
        running.id,
        session_id=state.record.id,
        state="failed" if running.stop == "error" else "done",
        stop=running.stop,
        iterations=running.iterations,
        error=running.error.text if running.error else None,
        inbox_id=running.inbox_id,
        reply=None if state.record.kind != "chat" else reply,
        warm_until=state.warm_until,
    )
    state.version = session_version(row)
    state.last_used = clock.now()


async def _close_history(ctx: TurnContext) -> None:
    """Make sure that the history may be continued: the last message is the assistant's."""
    runtime, running, state = ctx.runtime, ctx.at_work, ctx.state
    try:
        await running.settle()
    except Exception as error:
        await _failed(ctx, error)
        # Left open, the turn is finished by whoever next opens the session.
        raise
    if not running.entries:
        return
    if running.entries[-1].message.role == "user":
        text = running.reply if running.question is None else numbered(running.question)
        entry = running.say(Message.assistant(text or "(no answer)"))
        await runtime.journal.say(state.record.id, running.id, entry.seq, entry.message)
