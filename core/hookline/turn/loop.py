"""Runs a turn from its message to its reply: calls the model and tools until the model answers.

All turns run here: for a person's message, a schedule or a sub-agent, and resumed ones.
:func:`run_turn` and ``resume_turn`` differ only in how the turn begins.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from hookline_hookspecs import Block, ContextBlock, Continue, Delta, crash
from hookline_hookspecs.errors import NetworkError, Overloaded, ProviderError, StoreError
from hookline_hookspecs.messages import Message, TextBlock, ToolCall, ToolResultBlock
from hookline_hookspecs.origins import merge_origins
from hookline_hookspecs.questions import Question, Questions
from hookline_hookspecs.replies import Reply
from hookline_hookspecs.requests import ModelRequest, ModelResponse
from hookline_hookspecs.sentences import N_
from hookline_hookspecs.steps import Failure
from hookline_hookspecs.tool_results import ToolResult

from .. import clock
from ..bus.implementation import MiddlewareError, describe, error_text
from ..engine import Engine
from ..questions.ask import TurnParked, TurnStopped
from ..questions.service import QuestionService, new_question_id
from ..questions.table import (
    REPLY_KEY,
    AskingCall,
    QuestionPlace,
    insert_question,
    insert_question_chat,
    new_question,
)
from ..sessions.context import TurnContext
from ..sessions.history import drop_expired_context
from ..sessions.prompt import envelope, notices
from ..sessions.state import ActiveTurn, Outcome, set_question
from ..store.journal import Statement
from ..tasks import finish_despite_cancel, uncancel
from ..text import clean, numbered
from .inexact_calls import as_offered
from .missing_workspace import check_workspace
from .model_call import call_model, sanitize_response, turn_request
from .tool_call import resolve_bridge, run_calls

log = logging.getLogger("hookline.turn")
RETRY_PAUSES = (0.5, 2.0)
"""Seconds before each repeat of a model call whose stream broke off."""
STOPPED = N_("Stopped.")
MAX_NAMED_TOOLS = 8
"""Tools that the text at the limit of model calls names."""
MAX_CONTINUATIONS = 5
"""How often ``post_answer`` can make one turn go on."""
THINKING_ONLY = (
    "{model} used its whole output limit for thinking, so there is no answer. Ask for less, lower "
    "the reasoning effort, or raise the limit of tokens in an answer"
)
NO_WORD = (
    "There is no answer: the model refused, or the provider's content filter stopped it. Say it "
    "differently, or choose another model with /model."
)
STOPPED_RESULT = "Interrupted: the person stopped the turn; the outcome of this call is unknown"


class EmptyAnswer(ProviderError):
    """The model returned an empty answer twice."""


async def run_turn(engine: Engine, turn: ActiveTurn, blocks: Sequence[Block]) -> None:
    """Run a new turn in a session that the caller owns. Errors are stored in the turn's outcome."""
    state = turn.state
    ctx = TurnContext(engine, state, turn)

    async def begin() -> None:
        dropped = drop_expired_context(state)
        await engine.bus.observe("start_of_turn", ctx, turn.snapshot())
        context = await engine.bus.collect("pre_prompt", ctx, turn.snapshot(), ContextBlock)
        turn.blocks = (*notices(state, check_workspace(ctx)), *(block for _, block in context))
        origins = merge_origins(*[block.origins for block in turn.blocks])
        content = (*state.take_steering(), *blocks)
        entry = turn.append(Message("user", content, envelope(turn.blocks), origins))
        creating, state.pending.creating = state.pending.creating, None
        earlier_writes = [creating, *dropped] if creating else dropped
        now = clock.now()
        row = {"id": turn.id, "session_id": state.record.id, "inbox_id": turn.inbox_id, "now": now}
        # The session's version after this write: updated now, one more turn, no end, no question.
        turns_before = state.version[1] if state.version else 0
        state.version = (now, turns_before + 1, None, state.model, None)
        turn.track_write(engine.journal.begin_turn(row, entry.seq, entry.message, earlier_writes))

    await run_lifecycle(ctx, begin)


async def run_lifecycle(ctx: TurnContext, begin: Callable[[], Awaitable[None]]) -> None:
    """Begin, run and end a turn. Whatever happens, the turn ends and its history is complete."""
    turn = ctx.active_turn
    turn.task = asyncio.current_task()
    ctx.state.active = turn
    try:
        with ctx.activate():
            cancelled = await _run_to_reply(ctx, begin)
            end = _park_turn(ctx) if turn.parked else _end_turn(ctx)
            cancelled_late = await finish_despite_cancel(end)
    finally:
        ctx.state.active = None
    if cancelled or (cancelled_late and not turn.stopping):
        raise asyncio.CancelledError
    error = turn.outcome.error.exception if turn.outcome.error else None
    if ctx.engine.strict and error is not None and not isinstance(error, ProviderError):
        raise error


async def _run_to_reply(ctx: TurnContext, begin: Callable[[], Awaitable[None]]) -> bool:
    """Set the turn's outcome; return True if the turn was cancelled by anything but ``/stop``."""
    turn, outcome = ctx.active_turn, ctx.active_turn.outcome
    try:
        await begin()
        if outcome.question is None and not outcome.reply:
            await _loop(ctx)
        outcome.stop = outcome.stop or ("question" if outcome.question else "done")
    except TurnParked:
        turn.parked = True
        outcome.stop = "question"
    except TurnStopped:
        outcome.stop, outcome.reply = "stopped", STOPPED
    except asyncio.CancelledError:
        if ctx.engine.closing:
            # The process is ending: the next one resumes the turn from the journal.
            raise
        outcome.stop = "stopped"
        outcome.reply = append_to_partial("".join(turn.streamed), STOPPED)
        if not turn.stopping:
            return True
        uncancel(turn.task)
    except BaseException as error:
        await _record_failure(ctx, error)
    return False


async def _record_failure(ctx: TurnContext, error: BaseException) -> None:
    """Store ``error`` in the turn's outcome. Raises it if the turn must stay open."""
    turn, outcome = ctx.active_turn, ctx.active_turn.outcome
    if not isinstance(error, Exception):
        raise error
    if (store_error := resumable_error(turn, error)) is not None:
        raise store_error
    partial = ""
    if isinstance(error, ProviderError):
        failure = Failure(error.kind, error_text(error), error)
        partial = error.partial
    else:
        if not isinstance(error, MiddlewareError):
            log.error("turn %s failed", turn.id, exc_info=error)
        text = "" if ctx.engine.strict else error_text(error)
        failure = Failure("internal", text or describe(error), error)
    outcome.error = failure
    outcome.stop = "budget" if failure.kind == "budget" else "error"
    outcome.partial = partial
    outcome.reply = append_to_partial(partial, failure.text)
    await ctx.engine.bus.observe("on_error", ctx, failure)


def resumable_error(turn: ActiveTurn, error: BaseException | None) -> StoreError | None:
    """Return the store's error if the turn must stay open and be resumed, else None.

    Only a turn whose message is stored in the inbox can be resumed. A store error inside a
    middleware resumes a turn only once; after that the turn ends with the error.
    """
    cause = error.__cause__ if isinstance(error, MiddlewareError) and not turn.resumed else error
    return cause if turn.inbox_id is not None and isinstance(cause, StoreError) else None


def append_to_partial(partial: str, text: str) -> str:
    """Return the part of an answer that was already shown, followed by ``text``."""
    return "\n\n".join(filter(None, [clean(partial).strip(), text]))


async def _loop(ctx: TurnContext) -> None:
    """Call the model and run its tool calls until it answers, asks a person or reaches a limit."""
    engine, turn, state = ctx.engine, ctx.active_turn, ctx.state
    limit = engine.config.max_iterations
    while not turn.max_calls or turn.iterations < turn.max_calls:
        final = turn.iterations >= limit
        response = await _ask_model(ctx, turn_request(ctx, state.messages(), final=final))
        turn.iterations += 1
        # Calls in the final response are ignored: the model was asked to answer without tools.
        response = _with_offered_calls(ctx, response)
        requested = () if final else response.message.tool_calls
        calls = [resolve_bridge(ctx, call) for call in requested]
        await _store_response(ctx, response, calls)
        await engine.bus.observe("post_model", ctx, _with_calls(response, calls))
        if response.stop == "pause" and not calls and turn.iterations < limit:
            continue
        if calls:
            await answer_calls(ctx, calls)
            if turn.outcome.question is not None:
                return
            continue
        turn.outcome.reply = response.text
        if final:
            turn.outcome.stop = "max_iterations"
            turn.outcome.reply = append_to_partial(response.text, _limit_text(turn, limit))
        if response.stop in ("length", "context"):
            ctx.notify(N_("The answer was cut off at the model's limit."), "core")
        if response.stop == "refusal":
            ctx.notify(
                N_("The model or the provider's content filter ended the answer here."), "core"
            )
        if final:
            return
        if state.pending.steering:
            # A person steered the turn during the answer, so another step follows.
            _append_message(ctx, Message("user", tuple(state.take_steering())))
        elif response.stop in ("length", "context") or not await _goes_on(ctx):
            return
    turn.outcome.stop = "max_iterations"


async def _goes_on(ctx: TurnContext) -> bool:
    """Ask the plugins whether the turn is finished; if not, tell the model why."""
    turn = ctx.active_turn
    found = await ctx.engine.bus.collect("post_answer", ctx, turn.snapshot(), Continue)
    if not found:
        return False
    if turn.continued >= MAX_CONTINUATIONS:
        names = ", ".join(dict.fromkeys(plugin for plugin, _ in found))
        ctx.notify(
            f"The turn ended although {names} did not count it as finished: it had gone on "
            f"{MAX_CONTINUATIONS} times.",
            "core",
        )
        return False
    turn.continued += 1
    reasons = tuple([TextBlock(one.reason, one.origins) for _, one in found])
    _append_message(ctx, Message("user", reasons))
    return True


async def _ask_model(ctx: TurnContext, request: ModelRequest) -> ModelResponse:
    """Return a response with content. Raises ``EmptyAnswer`` after two empty ones."""
    turn = ctx.active_turn
    for _attempt in range(2):
        used_ids = {call.id for e in ctx.state.history for call in e.message.tool_calls}
        response = sanitize_response(await _call_with_retries(ctx, request), used_ids)
        turn.usage = turn.usage + response.usage
        if response.text.strip() or response.message.tool_calls or response.stop == "pause":
            return response
        if response.stop in ("length", "context") and response.blocks:
            raise EmptyAnswer(THINKING_ONLY.format(model=request.model))
        if response.stop == "refusal":
            return replace(response, blocks=(TextBlock(NO_WORD),), stop="end")
        turn.track_write(
            ctx.engine.journal.record_usage(ctx.state.record.id, turn.id, "turn", response)
        )
    raise EmptyAnswer(
        f"{request.model} returned an empty answer twice; try again with /retry, "
        "or choose another model"
    )


async def _call_with_retries(ctx: TurnContext, request: ModelRequest) -> ModelResponse:
    """Call the model; if its stream breaks off, repeat the call after :data:`RETRY_PAUSES`."""
    turn = ctx.active_turn
    for pause in (*RETRY_PAUSES, None):
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


def _with_offered_calls(ctx: TurnContext, response: ModelResponse) -> ModelResponse:
    """Return the response with calls of offered tools, where the model nearly got them right."""
    calls = [as_offered(call, ctx.state.stable.tools) for call in response.message.tool_calls]
    return _with_calls(response, calls) if calls else response


def _limit_text(turn: ActiveTurn, limit: int) -> str:
    """What a person reads at the end of a turn that reached the limit of model calls."""
    counts = Counter(result.call.name for result in turn.results)
    done = ", ".join(f"{name} ×{count}" for name, count in counts.most_common(MAX_NAMED_TOOLS))
    if not done:
        return N_(
            f"Stopped at the limit of {limit} model calls in a turn (`max_iterations`). "
            "Send a message such as “continue” to go on."
        )
    return N_(
        f"Stopped at the limit of {limit} model calls in a turn (`max_iterations`). "
        f"Tools called: {done}. Send a message such as “continue” to go on."
    )


def _with_calls(response: ModelResponse, calls: Sequence[ToolCall]) -> ModelResponse:
    """Replace the response's calls by ``calls`` with the same ids."""
    by_id = {call.id: call for call in calls}
    blocks = [by_id.get(b.id, b) if isinstance(b, ToolCall) else b for b in response.blocks]
    return replace(response, blocks=tuple(blocks))


async def _store_response(
    ctx: TurnContext, response: ModelResponse, calls: Sequence[ToolCall]
) -> None:
    """Append the response to the history and start storing it, with a step for each call."""
    engine, turn, session_id = ctx.engine, ctx.active_turn, ctx.state.record.id
    message = response.message
    if message.tool_calls and not calls:  # ignored calls are not stored
        text = tuple(b for b in response.blocks if not isinstance(b, ToolCall))
        message = Message("assistant", text or (TextBlock("(no answer)"),))
    await turn.flush()  # usually already done; nothing may follow a message that was not stored
    entry = turn.append(message)
    steps = [(call, engine.tools.is_read_only(call.name)) for call in calls]
    turn.track_write(
        engine.journal.record_response(session_id, turn.id, entry.seq, message, steps, response)
    )
    # A read-only call may run again after a crash, so it need not wait for this write.
    if not all(read_only for _, read_only in steps):
        await turn.flush()
    await turn.pass_point("after-model")


async def answer_calls(ctx: TurnContext, calls: Sequence[ToolCall]) -> None:
    """Run the calls that have no result yet and append all results, in the order of the calls."""
    turn = ctx.active_turn
    try:
        await run_calls(ctx, [call for call in calls if call.id not in turn.finished])
    finally:
        # Each call gets exactly one result, even if the turn is stopped. Only a turn that will be
        # resumed leaves calls open: by the next process, once the store is available, or once a
        # person has answered.
        error = sys.exception()
        parked = isinstance(error, TurnParked)
        if not (ctx.engine.closing or parked or resumable_error(turn, error)):
            _append_results(ctx, calls)


def _append_results(ctx: TurnContext, calls: Sequence[ToolCall]) -> None:
    turn = ctx.active_turn
    for call in calls:
        if call.id not in turn.finished:
            turn.finish_call(ctx.engine.journal, ToolResult(call, STOPPED_RESULT, ok=False))
    results = [turn.finished.pop(call.id) for call in calls]
    turn.results += results
    blocks: list[Block] = [
        ToolResultBlock(r.call.id, r.text, r.ok, r.images, r.origins, r.handles) for r in results
    ]
    blocks += ctx.state.take_steering()
    for result in results:
        if isinstance(result.data, Question):
            turn.outcome.question = result.data
    _append_message(ctx, Message("user", tuple(blocks)))


def _append_message(ctx: TurnContext, message: Message) -> None:
    turn = ctx.active_turn
    entry = turn.append(message)
    turn.track_write(
        ctx.engine.journal.append_message(ctx.state.record.id, turn.id, entry.seq, message)
    )


async def _park_turn(ctx: TurnContext) -> None:
    """Give up the turn until its question is answered. What it did so far is stored."""
    turn = ctx.active_turn
    await turn.flush()
    questions: QuestionService = ctx.engine.services[Questions]
    await questions.table.park_turn(turn.id)
    ctx.engine.bus.signals.send("turn_parked", turn.snapshot(), ctx)
    ctx.state.flags.recovered = False  # the next owner looks for an answer first
    crash.point("after-park")


async def _end_turn(ctx: TurnContext) -> None:
    """End the turn. If that cannot be stored, the turn stays open for the session's next owner."""
    try:
        await _store_end(ctx)
    except Exception as error:
        await _record_failure(ctx, error)
        raise


async def _store_end(ctx: TurnContext) -> None:
    """Complete the history, create the reply, and store both with the end of the turn."""
    engine, turn, state, outcome = ctx.engine, ctx.active_turn, ctx.state, ctx.active_turn.outcome
    unanswered = bool(turn.entries) and turn.entries[-1].message.role == "user"
    if unanswered or outcome.error is not None:
        # Raises if a write was lost: its step may be stored although its commit failed.
        await turn.flush()
    if unanswered:
        # The text of an error is not the model's own, so it is shown but not stored as an answer.
        said = _reply_text(outcome) if outcome.error is None else clean(outcome.partial).strip()
        _append_message(ctx, Message.assistant(said or "(no answer)"))
    if turn.asked:
        await _close_questions(ctx)
    reply = turn.make_reply(_reply_text(outcome), outcome.question)
    outcome.reply = reply.text
    if outcome.stop != "error":
        reply = await engine.bus.pipeline("pre_reply", ctx, reply)
    reply, question = _store_choices(turn, reply)
    outcome.reply, outcome.sent = reply.text, reply
    await turn.pass_point("before-reply")
    if outcome.question is not None:
        await set_question(engine.journal, state, outcome.question)
    row = {
        "id": turn.id,
        "session_id": state.record.id,
        "inbox_id": turn.inbox_id,
        "warm_until": state.warm_until,
        "state": "failed" if outcome.stop == "error" else "done",
        "stop": outcome.stop,
        "iterations": turn.iterations,
        "error": outcome.error.text if outcome.error else None,
        "last": turn.entries[-1].seq if turn.entries else None,
    }
    stored_reply = reply if state.record.kind == "chat" else None
    try:
        outcome.claimed = await engine.journal.end_turn(
            row, stored_reply, left_over=turn.left_over, direct=turn.direct, question=question
        )
    finally:
        await turn.flush()
    state.last_used = clock.now()


async def _close_questions(ctx: TurnContext) -> None:
    """Close what the turn asked and no one has answered, such as a question of a stopped call."""
    questions: QuestionService = ctx.engine.services[Questions]
    for question in await questions.table.open_of_turn(ctx.active_turn.id):
        await questions.close(question, "closed")


def _store_choices(turn: ActiveTurn, reply: Reply) -> tuple[Reply, list[Statement]]:
    """The reply with the id of the question that its buttons answer, and what stores that.

    It is open until the next turn of the person in this session begins.
    """
    if not (turn.can_park and reply.choices) or reply.question:
        return reply, []
    question = new_question(
        Question(reply.text, reply.labels), new_question_id(), reply.session, reply.person, None
    )
    session = reply.session
    place = QuestionPlace(session.channel, session.chat_id, reply.person, reply.id)
    return replace(reply, question=question.id), [
        insert_question(question, AskingCall(turn.id, REPLY_KEY)),
        insert_question_chat(question.id, place),
    ]


def _reply_text(outcome: Outcome) -> str:
    return outcome.reply if outcome.question is None else numbered(outcome.question)
