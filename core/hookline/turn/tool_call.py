"""The one way to a tool: arguments, verdicts, approval, the run, ``post_tool``, the journal."""

from __future__ import annotations

import asyncio
import copy
import json
import logging
from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

from hookline_hookspecs.errors import HooklineError, Refused, ToolError
from hookline_hookspecs.events import Answer, Ask, Deny, Question, Step, ToolOutput, ToolResult
from hookline_hookspecs.messages import ToolCall
from hookline_hookspecs.tools import Tool

from ..bus.implementation import describe, is_fault
from ..bus.middleware import AroundFault
from ..bus.shapes import wrong_field
from ..sessions.context import TurnContext
from ..text import clean

log = logging.getLogger("hookline.tools")
CHOICES = ("Once", "This session", "Always", "Deny")
"""The choices of an approval (CONTRACT, Channels)."""
LONGEST = 400_000
"""Characters of a result that core passes on at most; a plugin cuts earlier."""


async def run_calls(ctx: TurnContext, calls: Sequence[ToolCall]) -> list[ToolResult]:
    """Run the calls of one response: neighbouring read-only ones side by side, others alone.

    Returns one result for each call, in order. What a cancelled turn has finished is in
    ``ctx.active.finished``.
    """
    results: list[ToolResult] = []
    for group in _groups(ctx, calls):
        if len(group) == 1:
            results.append(await run_call(ctx, group[0]))
        else:
            results += await _side_by_side(ctx, group)
    return results


async def _side_by_side(ctx: TurnContext, calls: Sequence[ToolCall]) -> list[ToolResult]:
    try:
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(run_call(ctx, call)) for call in calls]
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from None
    return [task.result() for task in running]


def _groups(ctx: TurnContext, calls: Sequence[ToolCall]) -> list[list[ToolCall]]:
    groups: list[list[ToolCall]] = []
    side_by_side = False
    for call in calls:
        read_only = ctx.engine.tools.is_read_only(call.name)
        if groups and side_by_side and read_only:
            groups[-1].append(call)
        else:
            groups.append([call])
        side_by_side = read_only
    return groups


async def run_call(ctx: TurnContext, call: ToolCall) -> ToolResult:
    """Run one call through every hook; its result is stored when this returns."""
    tool, result = _find(ctx, call)
    if tool is not None:
        ctx = ctx.with_tool(tool)
        try:
            call = replace(call, arguments=tool.check(call.arguments))
        except ToolError as error:
            result = _failure(call, f"Error: {error}")
        else:
            result = await _allowed_run(ctx, tool, call)
    assert result is not None
    result = await ctx.engine.bus.pipeline(
        "post_tool", ctx, result, finish=lambda changed: _finished(replace(changed, call=call))
    )
    ctx.active_turn.finish_call(ctx.engine.journal, result)
    if tool is None or not tool.read_only:
        await ctx.active_turn.flush()
    await ctx.active_turn.pass_point("after-tool")
    return result


def _find(ctx: TurnContext, call: ToolCall) -> tuple[Tool | None, ToolResult | None]:
    if call.error:
        return None, _failure(call, f"Error: {call.error}")
    offered = any(schema.name == call.name for schema in ctx.state.stable.tools)
    tool = ctx.engine.tools.get(call.name)
    if tool is not None and offered:
        return tool, None
    if offered:
        return None, _failure(call, f"Error: tool {call.name} is no longer available")
    names = ", ".join(schema.name for schema in ctx.state.stable.tools) or "none"
    return None, _failure(call, f"Error: there is no tool {call.name!r}; the tools are: {names}")


async def _allowed_run(ctx: TurnContext, tool: Tool, call: ToolCall) -> ToolResult:
    """Judge the call, then run it inside the middlewares; a changed call is judged again."""
    settled = await _judge(ctx, tool, call)
    if settled is not None:
        return settled
    approved = _fingerprint(call)

    async def run(asked: ToolCall) -> ToolResult:
        if asked.name != tool.name:
            return _failure(call, f"Error: a plugin turned {tool.name} into {asked.name}")
        if _fingerprint(asked) != approved:
            try:
                asked = replace(asked, arguments=tool.check(asked.arguments))
            except ToolError as error:
                return _failure(asked, f"Error: {error}")
            again = await _judge(ctx, tool, asked)
            if again is not None:
                return again
        return await _execute(ctx, tool, asked)

    try:
        return await ctx.engine.bus.around("around_tool", ctx, replace(call), run, ToolResult)
    except AroundFault as fault:
        return _failure(call, f"Error: {fault}; the tool did not run to its end")


def _fingerprint(call: ToolCall) -> str:
    """What an approval is bound to: the tool and exactly these arguments."""
    return json.dumps([call.name, call.arguments], sort_keys=True, default=repr)


async def _judge(ctx: TurnContext, tool: Tool, call: ToolCall) -> ToolResult | None:
    """The result if the call may not run or is answered already, else None."""
    judged, before = replace(call), _fingerprint(call)
    found = await ctx.engine.bus.veto("pre_tool", ctx, judged)
    if _fingerprint(judged) != before:
        return _failure(call, "Denied: a plugin changed the arguments while they were judged")
    plugin, verdict = found if found is not None else ("core", None)
    if tool.approval and not isinstance(verdict, (Deny, Ask)):
        plugin, verdict = tool.plugin, Ask(tool.approval)
    if verdict is None:
        return None
    if isinstance(verdict, Answer):
        return ToolResult(call, verdict.text)
    if isinstance(verdict, Deny):
        ctx.notify(f"{tool.name} was refused: {verdict.reason}", plugin)
        return _failure(call, f"Denied: {verdict.reason}")
    return await _approval(ctx, call, verdict, plugin)


async def _approval(ctx: TurnContext, call: ToolCall, ask: Ask, plugin: str) -> ToolResult | None:
    if ctx.active_turn.mode == "yes":
        return None
    question = Question(
        text=f"Allow {call.name}? {ask.reason}",
        choices=CHOICES,
        preview=ask.preview or json.dumps(call.arguments, ensure_ascii=False, indent=1),
        kind="approval",
        call=replace(call),
        reason=ask.reason,
    )
    answer = await ctx.engine.bus.first("on_question", ctx, question, str)
    if answer in CHOICES[:-1]:
        return None
    reason = ask.reason.rstrip(".")
    if answer is None and ctx.active_turn.mode == "no":
        why = f"{reason}; nobody is there to approve it. Find another way, or stop and say so."
    else:
        why = f"{reason}; the person did not approve it. Do not try it again in another form."
    ctx.notify(f"{call.name} was refused: {why}", plugin)
    return _failure(call, f"Denied: {why}")


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
    return replace(result, seconds=seconds)


async def _outcome(
    ctx: TurnContext, tool: Tool, call: ToolCall, arguments: dict[str, Any]
) -> ToolResult:
    try:
        if tool.is_async:
            bus = ctx.engine.bus
            value = await bus.run(tool.plugin, f"tool {tool.name}", tool.run, **arguments)
        else:
            value = await asyncio.to_thread(_plain, tool, arguments)
        await ctx.active_turn.pass_point("mid-tool")
        return _result(call, value)
    except (Refused, PermissionError) as error:
        return _failure(call, f"Denied: {error}")
    except HooklineError as error:
        return _failure(call, f"Error: {error}")
    except BaseException as error:
        if not is_fault(error):
            raise
        log.warning("tool %s failed", tool.name, exc_info=error)
        return _failure(call, f"Error: {tool.name} failed: {describe(error)}")


def _plain(tool: Tool, arguments: dict[str, Any]) -> Any:
    try:
        return tool.run(**arguments)
    except (StopIteration, GeneratorExit) as error:
        # A future cannot carry them to the coroutine that waits for it.
        raise RuntimeError(f"it raised {type(error).__name__}") from error


def _result(call: ToolCall, value: object) -> ToolResult:
    if isinstance(value, ToolResult):
        return _checked(replace(value, call=call))
    if isinstance(value, ToolOutput):
        output = ToolResult(call, value.text, value.ok, value.notes, value.data, value.images)
        return _checked(output)
    if isinstance(value, str):
        return ToolResult(call, value)
    try:
        text = "" if value is None else json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError) as error:
        return _failure(call, f"Error: {call.name} returned what JSON cannot hold: {error}")
    return ToolResult(call, text, data=value)


def _checked(result: ToolResult) -> ToolResult:
    if (wrong := wrong_field(result)) is not None:
        raise wrong
    return result


def _failure(call: ToolCall, text: str) -> ToolResult:
    return ToolResult(call, text, ok=False)


def _finished(result: ToolResult) -> ToolResult:
    """The result as the model reads it: bounded, with its notes, never empty."""
    text = clean(result.text)
    if len(text) > LONGEST:
        left_out = len(text) - LONGEST
        half = LONGEST // 2
        text = f"{text[:half]}\n[… {left_out} characters left out …]\n{text[-half:]}"
    notes = clean("".join(f"\n\nNote: {note}" for note in result.notes))
    return replace(result, text=(text or "(no output)") + notes)
