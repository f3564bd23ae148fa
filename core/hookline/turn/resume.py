"""Resumes a turn of a dead process from its last stored step."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hookline_hookspecs import Inbound, ToolCall
from hookline_hookspecs.questions import Questions
from hookline_hookspecs.steps import Failure
from hookline_hookspecs.tool_results import ToolResult

from ..engine import Engine
from ..questions.service import QuestionService
from ..sessions.context import TurnContext
from ..sessions.state import ActiveTurn, SessionState
from ..store.codec import stored_inbound, stored_origins
from .loop import answer_calls, run_lifecycle

MAX_RESUMES = 3
"""Maximum resumes of a turn. More would loop if the turn itself kills the process."""
RESUMED_TOO_OFTEN = (
    f"This turn was interrupted and resumed {MAX_RESUMES} times without finishing, "
    "so it has ended. Send the message again to retry."
)
UNKNOWN = (
    "Interrupted: the process died while this ran; the outcome is unknown, check before you go on"
)


async def resume_turn(
    engine: Engine,
    state: SessionState,
    row: Mapping[str, Any],
    mode: str,
    *,
    caller_waits: bool = False,
    turn: ActiveTurn | None = None,
) -> ActiveTurn:
    """Continue a turn that did not end; ``row`` is from ``Journal.open_turns``.

    Finished calls keep their results. Started calls are reported as interrupted, or run again if
    they are read-only. Calls that were not started are run; one that waited for an answer finds it.
    A turn that was already resumed :data:`MAX_RESUMES` times ends with an error. ``turn`` is what
    its caller would begin now instead, for a turn without a stored message.
    """
    turn = turn or _stored_turn(state, row, mode)
    turn.id, turn.resumed, turn.left_over, turn.asked = row["id"], True, True, True
    turn.caller_waits = turn.caller_waits or caller_waits
    turn.entries = [entry for entry in state.history if entry.turn_id == row["id"]]
    turn.iterations, turn.usage = await engine.journal.turn_usage(row["id"])
    ctx = TurnContext(engine, state, turn)
    if row["parked"]:
        await _take_stored_steering(ctx)
    steps = await engine.journal.steps(turn.id)

    async def begin() -> None:
        await engine.bus.observe("start_of_turn", ctx, turn.snapshot())
        if row["resumes"] >= MAX_RESUMES:
            failure = Failure("internal", RESUMED_TOO_OFTEN)
            turn.outcome.error, turn.outcome.stop = failure, "error"
            turn.outcome.reply = failure.text
            await engine.bus.observe("on_error", ctx, failure)
            return
        turn.outcome.question = turn.state.question  # it was cleared when this turn began
        last = turn.entries[-1].message
        if last.role != "assistant":
            return
        if not last.tool_calls:
            turn.outcome.reply = last.text
            return
        calls = [_journalled(call, steps.get(call.id)) for call in last.tool_calls]
        for call in calls:
            step = steps.get(call.id)
            if step is not None and step["state"] == "finished":
                text = step["result"] or ""
                origins = stored_origins(call.id, step["origins"])
                turn.finished[call.id] = ToolResult(
                    call, text, ok=bool(step["ok"]), origins=origins
                )
            elif step is not None and step["state"] == "started" and not step["read_only"]:
                turn.finish_call(engine.journal, ToolResult(call, UNKNOWN, ok=False))
        await answer_calls(ctx, calls)

    await run_lifecycle(ctx, begin)
    return turn


def _stored_turn(state: SessionState, row: Mapping[str, Any], mode: str) -> ActiveTurn:
    inbound = stored_inbound(row["inbox_id"], row["inbound"]) if row["inbound"] else None
    inbound = inbound or Inbound(state.record.channel, state.record.chat_id, "", row["id"], "")
    return ActiveTurn(row["id"], state, inbound, row["inbox_id"], mode, state.model)


async def _take_stored_steering(ctx: TurnContext) -> None:
    """Add what the person said with ``/steer`` while the turn was parked."""
    questions: QuestionService = ctx.engine.services[Questions]
    ctx.state.pending.steering += await questions.table.steering(ctx.active_turn.id)


def _journalled(call: ToolCall, step: Mapping[str, Any] | None) -> ToolCall:
    """The call as it was started; for a bridge call, that of the deferred tool."""
    if step is None or step["name"] == call.name:
        return call
    return replace(call, name=step["name"], arguments=json.loads(step["arguments"]))
