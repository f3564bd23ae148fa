"""The one way to a tool: arguments, verdicts, approval, the run, ``post_tool``, the journal."""

from __future__ import annotations

import asyncio
import copy
import difflib
import json
import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import fields, replace
from functools import partial
from itertools import groupby
from time import perf_counter
from typing import Any

from hookline_hookspecs.errors import HooklineError, Refused, ToolError
from hookline_hookspecs.messages import ToolCall
from hookline_hookspecs.origins import Origin
from hookline_hookspecs.questions import APPROVAL_CHOICES, Question, Refusal
from hookline_hookspecs.secrets import redacted
from hookline_hookspecs.steps import Step
from hookline_hookspecs.tool_results import ToolOutput, ToolResult
from hookline_hookspecs.tools import Tool
from hookline_hookspecs.verdicts import Answer, Ask, Deny

from ..bus.implementation import MiddlewareError, describe, reraise_control_flow
from ..bus.validation import field_error
from ..sessions.context import TurnContext
from ..text import clean

log = logging.getLogger("hookline.tools")
"""The choices of an approval (CONTRACT, Channels)."""
_THREADS = ThreadPoolExecutor(64, "hookline-tool")
"""Of synchronous tools alone: one that waits holds up nothing else that needs a thread."""
LONGEST = 400_000
"""Characters of a result that core passes on at most; a plugin cuts earlier."""


class CallResolved(Exception):
    """The call has a result without being run."""

    def __init__(
        self,
        call: ToolCall,
        text: str,
        *,
        ok: bool = False,
        origins: tuple[Origin, ...] = (),
        shown: str = "",
    ) -> None:
        self.result = ToolResult(call, text, ok, origins=origins, shown=shown)


def resolve_bridge(ctx: TurnContext, call: ToolCall) -> ToolCall:
    """The deferred tool's call that a bridge call stands for, with its id; else ``call``."""
    tools = ctx.engine.tools
    bridge = tools.get(call.name)
    if bridge is None or not bridge.bridge or call.error or not _is_offered(ctx, call.name):
        return call
    try:
        asked = bridge.check(call.arguments)
    except ToolError as error:
        return replace(call, error=str(error))
    name, arguments = asked["tool"], asked.get("arguments") or {}
    behind = [
        tool.name for tool in tools.values() if tool.deferred and tool.plugin == bridge.plugin
    ]
    if name not in behind or not isinstance(arguments, dict):
        near = difflib.get_close_matches(str(name), behind, 1)
        hint = (
            f"did you mean {near[0]}?"
            if near
            else f"{name} itself is offered, so call that"
            if tools.get(name)
            else ""
        )
        return replace(
            call, error=f"no tool {name!r} is called through {call.name}; {hint}".rstrip("; ")
        )
    return ToolCall(call.id, name, arguments)


def _is_offered(ctx: TurnContext, name: str) -> bool:
    return any(schema.name == name for schema in ctx.state.stable.tools)


async def run_calls(ctx: TurnContext, calls: Sequence[ToolCall]) -> None:
    """Run the calls of one response: neighbouring read-only ones side by side, others alone.

    Their results are in ``ctx.active_turn.finished``, also if the turn is cancelled meanwhile.
    """
    for read_only, group in groupby(calls, lambda call: ctx.engine.tools.is_read_only(call.name)):
        neighbours = list(group)
        if read_only and len(neighbours) > 1:
            await _run_parallel(ctx, neighbours)
        else:
            for call in neighbours:
                await run_call(ctx, call)


async def _run_parallel(ctx: TurnContext, calls: Sequence[ToolCall]) -> None:
    try:
        async with asyncio.TaskGroup() as tasks:
            for call in calls:
                tasks.create_task(run_call(ctx, call))
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from None


async def run_call(ctx: TurnContext, call: ToolCall) -> ToolResult:
    """Run one call through every hook; its result is stored when this returns."""
    tool = ctx.engine.tools.get(call.name)
    try:
        offered = _offered(ctx, tool, call)
        ctx = TurnContext(
            ctx.engine, ctx.state, ctx.active, offered
        )  # its own: calls may run side by side
        call = _with_checked_arguments(offered, call)
        result = await _allowed_run(ctx, offered, call)
    except CallResolved as settled:
        result = settled.result
    result = await ctx.engine.bus.pipeline(
        "post_tool", ctx, result, finish=lambda changed: _finished(replace(changed, call=call))
    )
    ctx.active_turn.finish_call(ctx.engine.journal, result)
    if tool is None or not tool.read_only:
        await ctx.active_turn.flush()
    await ctx.active_turn.pass_point("after-tool")
    return result


def _offered(ctx: TurnContext, tool: Tool | None, call: ToolCall) -> Tool:
    if call.error:
        raise CallResolved(call, f"Error: {call.error}")
    names = [schema.name for schema in ctx.state.stable.tools]
    if call.name not in names and not (tool is not None and _is_reached(ctx, tool)):
        told = f"there is no tool {call.name!r}; the tools are: {', '.join(names) or 'none'}"
        raise CallResolved(call, f"Error: {told}")
    if tool is None:
        raise CallResolved(call, f"Error: tool {call.name} is no longer available")
    return tool


def _is_reached(ctx: TurnContext, tool: Tool) -> bool:
    """True for a deferred tool, if the session offers a bridge of its plugin."""
    ours = [
        one.name for one in ctx.engine.tools.values() if one.bridge and one.plugin == tool.plugin
    ]
    for_kind = ctx.state.record.kind == "chat" or not tool.main_only
    return tool.deferred and for_kind and any(_is_offered(ctx, name) for name in ours)


def _with_checked_arguments(tool: Tool, call: ToolCall) -> ToolCall:
    try:
        return replace(call, arguments=tool.check(call.arguments))
    except ToolError as error:
        raise CallResolved(call, f"Error: {error}") from None


async def _allowed_run(ctx: TurnContext, tool: Tool, call: ToolCall) -> ToolResult:
    """Judge the call, then run it inside the middlewares; a changed call is judged again."""
    approved = await _judge(ctx, tool, call)

    async def run(asked: ToolCall) -> ToolResult:
        if asked.name != tool.name:
            return _failure(call, f"Error: a plugin turned {tool.name} into {asked.name}")
        try:
            if _fingerprint(asked) != approved:
                asked = _with_checked_arguments(tool, asked)
                await _judge(ctx, tool, asked)
        except CallResolved as settled:
            return settled.result
        return await _execute(ctx, tool, asked)

    try:
        return await ctx.engine.bus.around("around_tool", ctx, replace(call), run, ToolResult)
    except MiddlewareError as fault:
        return _failure(call, f"Error: {fault}; the tool did not run to its end")


def _fingerprint(call: ToolCall) -> str:
    """What an approval is bound to: the tool and exactly these arguments."""
    return json.dumps([call.name, call.arguments], sort_keys=True, default=repr)


async def _judge(ctx: TurnContext, tool: Tool, call: ToolCall) -> str:
    """Return the fingerprint of a call that may run.

    Raises:
        CallResolved: the call is denied, or a guard has answered it.
    """
    judged, before = replace(call), _fingerprint(call)
    decision = await ctx.engine.bus.guard("pre_tool", ctx, judged)
    if _fingerprint(judged) != before:
        raise CallResolved(call, "Denied: a plugin changed the arguments while they were judged")
    plugin, verdict = decision.plugin, decision.verdict
    if tool.approval and not isinstance(verdict, (Deny, Ask)):
        plugin, verdict = tool.plugin, Ask(tool.approval)
    if isinstance(verdict, Answer):
        raise CallResolved(call, verdict.text, ok=True, origins=verdict.origins or tool.origins)
    denial = await _ask(ctx, call, verdict) if isinstance(verdict, Ask) else verdict
    if denial is not None:
        shown = denial.shown or denial.reason
        ctx.notify(f"{tool.name} was refused: {shown}", plugin)
        raise CallResolved(call, f"Denied: {denial.reason}", shown=f"Denied: {shown}")
    return before


async def _ask(ctx: TurnContext, call: ToolCall, ask: Ask) -> Deny | None:
    """Ask a person; None if the call was approved, else why it was not."""
    if (mode := ctx.active_turn.mode) == "yes":
        return None
    question = Question(
        text=f"Allow {call.name}? {ask.reason}",
        choices=(APPROVAL_CHOICES[0], APPROVAL_CHOICES[-1]) if ask.once else APPROVAL_CHOICES,
        preview=ask.preview or json.dumps(call.arguments, ensure_ascii=False, indent=1),
        kind="approval",
        call=replace(call),
        reason=ask.reason,
    )
    answer = await ctx.engine.bus.first("on_question", ctx, question, str)
    if answer in question.choices[:-1]:
        return None
    reason = ask.reason.rstrip(".")
    if answer is None and mode == "no":
        shown = f"{reason}; nobody is there to approve it."
        return Deny(f"{shown} Find another way, or stop and say so.", shown)
    if said := answer.reason if isinstance(answer, Refusal) else "":
        return Deny(
            f"{reason}; the person did not approve it and says: {said}",
            f"{reason}; you said no: {said}",
        )
    told = f"{reason}; the person did not approve it. Do not try it again in another form."
    return Deny(told, f"{reason}; it was not approved.")


async def _execute(ctx: TurnContext, tool: Tool, call: ToolCall) -> ToolResult:
    arguments = copy.deepcopy(call.arguments)  # the tool's own, not frozen
    if not tool.read_only:
        await ctx.engine.journal.start_step(ctx.active_turn.id, call.id)
    await ctx.active_turn.pass_point("before-tool")
    start = perf_counter()
    if tool.wants_context:
        arguments["ctx"] = ctx.of(tool.plugin)
    result = await _outcome(ctx, tool, call, arguments)
    seconds = perf_counter() - start
    if ctx.engine.bus.observers:
        step = Step("tool", "core", "", call, result, start, seconds)
        ctx.engine.bus.notify_observers(ctx, step)
    return replace(result, seconds=seconds, origins=result.origins or tool.origins)


async def _outcome(
    ctx: TurnContext, tool: Tool, call: ToolCall, arguments: dict[str, Any]
) -> ToolResult:
    try:
        if tool.is_async:
            value = await tool.run(**arguments)
        else:
            work = partial(copy_context().run, _run_sync, tool, arguments)
            async with ctx.state.threads:
                value = await asyncio.get_running_loop().run_in_executor(_THREADS, work)
        await ctx.active_turn.pass_point("mid-tool")
        return _result(call, value)
    except (Refused, PermissionError) as error:
        return _failure(call, f"Denied: {error}")
    except HooklineError as error:
        return _failure(call, f"Error: {error}")
    except BaseException as error:
        reraise_control_flow(error)
        log.warning("tool %s failed", tool.name, exc_info=error)
        return _failure(call, f"Error: {tool.name} failed: {describe(error)}")


def _run_sync(tool: Tool, arguments: dict[str, Any]) -> Any:
    try:
        return tool.run(**arguments)
    except (StopIteration, GeneratorExit) as error:
        # A future cannot carry them to the coroutine that waits for it.
        raise RuntimeError(f"it raised {type(error).__name__}") from error


def _result(call: ToolCall, value: object) -> ToolResult:
    if isinstance(value, ToolOutput):
        value = ToolResult(
            call, **{field.name: getattr(value, field.name) for field in fields(value)}
        )
    if isinstance(value, ToolResult):
        value = replace(value, call=call)
        if (wrong := field_error(value)) is not None:
            raise wrong
        return value
    if isinstance(value, str):
        return ToolResult(call, value)
    try:
        text = "" if value is None else json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError) as error:
        return _failure(call, f"Error: {call.name} returned what JSON cannot hold: {error}")
    return ToolResult(call, text, data=value)


def _failure(call: ToolCall, text: str) -> ToolResult:
    return ToolResult(call, text, ok=False)


def _finished(result: ToolResult) -> ToolResult:
    """The result as the model reads it: bounded, with its notes, never empty."""
    text = clean(result.text) if result.ok else redacted(clean(result.text))
    if len(text) > LONGEST:
        left_out, half = len(text) - LONGEST, LONGEST // 2
        text = f"{text[:half]}\n[… {left_out} characters left out …]\n{text[-half:]}"
    notes = clean("".join(f"\n\nNote: {note}" for note in result.notes))
    return replace(
        result, text=(text or "(no output)") + notes, shown=redacted(clean(result.shown))
    )
