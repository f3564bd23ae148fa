"""Calls a tool: arguments, ``pre_tool``, approval, the call, ``post_tool``, the journal.

:func:`run_call` is the whole path of one call. A step that determines the result without running
the tool raises :class:`~.permission.CallResolved`.
"""

from __future__ import annotations

import asyncio
import copy
import difflib
import inspect
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
from hookline_hookspecs.secrets import redacted
from hookline_hookspecs.steps import Step
from hookline_hookspecs.tool_results import ToolOutput, ToolResult
from hookline_hookspecs.tools import Tool

from ..bus.implementation import MiddlewareError, describe, error_location, reraise_control_flow
from ..bus.validation import field_error
from ..questions.ask import TurnParked
from ..sessions.context import TurnContext
from ..text import clean
from .inexact_calls import offered_name, unwrapped
from .missing_workspace import missing_workspace_note
from .permission import CallResolved, check_permission, fingerprint, is_outdated

log = logging.getLogger("hookline.tools")
_THREADS = ThreadPoolExecutor(64, "hookline-tool")
"""Only for synchronous tools, so that slow ones do not delay other work in threads."""
MAX_RESULT_CHARS = 400_000
"""Maximum number of characters of a result that the model reads. Plugins may cut it earlier."""


def resolve_bridge(ctx: TurnContext, call: ToolCall) -> ToolCall:
    """Return the deferred tool's call that a bridge call requests; other calls unchanged."""
    tools = ctx.engine.tools
    bridge = tools.get(call.name)
    if bridge is None or not bridge.bridge or call.error or not _is_offered(ctx, call.name):
        return call
    try:
        bridged = bridge.check(call.arguments)
    except ToolError as error:
        return replace(call, error=str(error))
    deferred = {t.name: t for t in tools.values() if t.deferred and t.plugin == bridge.plugin}
    name, arguments = bridged["tool"], bridged.get("arguments") or {}
    name = offered_name(str(name), list(deferred))
    if name in deferred and isinstance(arguments, dict):
        return unwrapped(ToolCall(call.id, name, arguments), deferred[name].schema.parameters)
    problem = f"no tool {name!r} is called through {call.name}"
    if similar := difflib.get_close_matches(name, deferred, 1):
        problem += f"; did you mean {similar[0]}?"
    elif tools.get(name):
        problem += f"; {name} itself is offered, so call that"
    return replace(call, error=problem)


def _is_offered(ctx: TurnContext, name: str) -> bool:
    return any(schema.name == name for schema in ctx.state.stable.tools)


async def run_calls(ctx: TurnContext, calls: Sequence[ToolCall]) -> None:
    """Run the calls of one response: adjacent read-only ones in parallel, others one by one.

    The results are added to ``ctx.active_turn.finished``, even if the turn is cancelled meanwhile.
    """
    for read_only, group in groupby(calls, lambda call: ctx.engine.tools.is_read_only(call.name)):
        adjacent = list(group)
        if read_only and len(adjacent) > 1:
            await _run_parallel(ctx, adjacent)
        else:
            for call in adjacent:
                await run_call(ctx, call)


async def _run_parallel(ctx: TurnContext, calls: Sequence[ToolCall]) -> None:
    """Run read-only calls together. If one is parked, the others still run to their end."""
    parked: list[TurnParked] = []

    async def run(call: ToolCall) -> None:
        try:
            await run_call(ctx, call)
        except TurnParked as error:
            parked.append(error)

    try:
        async with asyncio.TaskGroup() as tasks:
            for call in calls:
                tasks.create_task(run(call))
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from None
    if parked:
        raise parked[0]


async def run_call(ctx: TurnContext, call: ToolCall) -> ToolResult:
    """Run one call through every hook and store its result."""
    registered = ctx.engine.tools.get(call.name)
    notes: list[str] = []
    try:
        tool = _find_tool(ctx, registered, call)
        # A separate context, because calls may run in parallel.
        ctx = TurnContext(ctx.engine, ctx.state, ctx.active, tool)
        ignored = tool.ignorable_arguments(call.arguments)
        notes += filter(None, ignored.values())
        kept = {name: value for name, value in call.arguments.items() if name not in ignored}
        call = _check_arguments(tool, replace(call, arguments=kept))
        result = await _run_guarded(ctx, tool, call)
        notes += filter(None, [missing_workspace_note(ctx, result)])
    except CallResolved as resolved:
        result = resolved.result
        notes = notes if result.ok else []
    # What concerns this call alone is added last: a cache would repeat it with another call.
    result = await ctx.engine.bus.pipeline(
        "post_tool",
        ctx,
        result,
        finish=lambda changed: _readable_result(
            replace(changed, call=call, notes=(*changed.notes, *notes))
        ),
    )
    ctx.active_turn.finish_call(ctx.engine.journal, result)
    if registered is None or not registered.read_only:
        await ctx.active_turn.flush()
    await ctx.active_turn.pass_point("after-tool")
    return result


def _find_tool(ctx: TurnContext, registered: Tool | None, call: ToolCall) -> Tool:
    """Return the tool if the session may call it. Raises ``CallResolved``."""
    if call.error:
        raise CallResolved(call, f"Error: {call.error}", invalid=True)
    names = [schema.name for schema in ctx.state.stable.tools]
    if call.name not in names and not (registered is not None and _has_bridge(ctx, registered)):
        available = ", ".join(names) or "none"
        text = f"Error: unknown tool {call.name!r}; available: {available}"
        raise CallResolved(call, text, invalid=True)
    if registered is None:
        raise CallResolved(call, f"Error: tool {call.name} is no longer available")
    return registered


def _has_bridge(ctx: TurnContext, tool: Tool) -> bool:
    """True for a deferred tool if the session offers a bridge of its plugin."""
    tools = ctx.engine.tools.values()
    bridges = [other.name for other in tools if other.bridge and other.plugin == tool.plugin]
    allowed = ctx.state.record.kind == "chat" or not tool.main_only
    return tool.deferred and allowed and any(_is_offered(ctx, name) for name in bridges)


def _check_arguments(tool: Tool, call: ToolCall) -> ToolCall:
    """Return the call with validated arguments. Raises ``CallResolved``."""
    try:
        return replace(call, arguments=tool.check(call.arguments))
    except ToolError as error:
        raise CallResolved(call, f"Error: {error}", invalid=True) from None


async def _run_guarded(ctx: TurnContext, tool: Tool, call: ToolCall) -> ToolResult:
    """Check the call, then run it inside the middlewares. A changed call is checked again.

    Raises:
        CallResolved: the call is denied, or a guard has answered it.
    """
    approved = await check_permission(ctx, tool, call)

    async def run(changed: ToolCall) -> ToolResult:
        if changed.name != tool.name:
            return _error_result(call, f"Error: a plugin turned {tool.name} into {changed.name}")
        try:
            if fingerprint(changed) != approved.fingerprint:
                changed = _check_arguments(tool, changed)
                await check_permission(ctx, tool, changed)
            elif await is_outdated(approved):
                await check_permission(ctx, tool, changed, approved)
        except CallResolved as resolved:
            return resolved.result
        return await _execute(ctx, tool, changed)

    try:
        return await ctx.engine.bus.around("around_tool", ctx, replace(call), run, ToolResult)
    except MiddlewareError as error:
        return _error_result(call, f"Error: {error}; the tool did not run to its end")


async def _execute(ctx: TurnContext, tool: Tool, call: ToolCall) -> ToolResult:
    arguments = copy.deepcopy(call.arguments)  # a mutable copy for the tool
    if not tool.read_only:
        await ctx.engine.journal.start_step(ctx.active_turn.id, call.id)
    await ctx.active_turn.pass_point("before-tool")
    start = perf_counter()
    if tool.wants_context:
        arguments["ctx"] = ctx.of(tool.plugin)
    result = await _call_function(ctx, tool, call, arguments)
    seconds = perf_counter() - start
    if ctx.engine.bus.observers:
        step = Step("tool", "core", "", call, result, start, seconds)
        ctx.engine.bus.notify_observers(ctx, step)
    return replace(result, seconds=seconds, origins=result.origins or tool.origins)


async def _call_function(
    ctx: TurnContext, tool: Tool, call: ToolCall, arguments: dict[str, Any]
) -> ToolResult:
    """Call the tool's function and convert what it returns or raises to a result."""
    try:
        if tool.is_async:
            value = await tool.run(**arguments)
        else:
            work = partial(copy_context().run, _run_sync, tool, arguments)
            async with ctx.state.threads:
                value = await asyncio.get_running_loop().run_in_executor(_THREADS, work)
        await ctx.active_turn.pass_point("mid-tool")
        _require_awaited(value)
        return _as_result(call, value)
    except (Refused, PermissionError) as error:
        return _error_result(call, f"Denied: {error}")
    except HooklineError as error:
        return _error_result(call, f"Error: {error}")
    except BaseException as error:
        reraise_control_flow(error)
        log.warning("tool %s of plugin %s failed", tool.name, tool.plugin, exc_info=error)
        reason = describe(error)
        ctx.engine.bus.signals.send_failure(
            tool.plugin, f"tool {tool.name}", reason + error_location(error), ctx=ctx
        )
        return _error_result(call, f"Error: {tool.name} failed: {reason}")


def _run_sync(tool: Tool, arguments: dict[str, Any]) -> Any:
    try:
        return tool.run(**arguments)
    except (StopIteration, GeneratorExit) as error:
        # A future cannot carry these two exceptions.
        raise RuntimeError(f"it raised {type(error).__name__}") from error


def _require_awaited(value: object) -> None:
    """Raise TypeError if the tool returned a coroutine, which it forgot to await."""
    if inspect.iscoroutine(value):
        value.close()
        raise TypeError(
            f"it returned a coroutine; define the tool with `async def` and write "
            f"`await {value.__qualname__}(…)`"
        )


def _as_result(call: ToolCall, value: object) -> ToolResult:
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
        return _error_result(call, f"Error: {call.name} did not return valid JSON: {error}")
    return ToolResult(call, text, data=value)


def _error_result(call: ToolCall, text: str) -> ToolResult:
    return ToolResult(call, text, ok=False)


def _readable_result(result: ToolResult) -> ToolResult:
    """The result as the model reads it: limited in length, with its notes, never empty."""
    text = clean(result.text) if result.ok else redacted(clean(result.text))
    if len(text) > MAX_RESULT_CHARS:
        half = MAX_RESULT_CHARS // 2
        left_out = len(text) - MAX_RESULT_CHARS
        text = f"{text[:half]}\n[… {left_out} characters left out …]\n{text[-half:]}"
    notes = clean("".join(f"\n\nNote: {note}" for note in result.notes))
    shown = redacted(clean(result.shown))
    return replace(result, text=(text or "(no output)") + notes, shown=shown)
