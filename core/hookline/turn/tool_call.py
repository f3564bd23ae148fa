"""Calls a tool: arguments, ``pre_tool``, approval, the call, ``post_tool``, the journal.

:func:`run_call` is the whole path of one call. A step that determines the result without running
the tool raises :class:`CallResolved`.
"""

from __future__ import annotations

import asyncio
import copy
import difflib
import hashlib
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

from hookline_hookspecs.errors import HooklineError, Refused, StoreError, ToolError
from hookline_hookspecs.messages import ToolCall
from hookline_hookspecs.optional_services import ApprovalPolicy
from hookline_hookspecs.origins import Origin
from hookline_hookspecs.permissions import OfferedScope, PermissionRules
from hookline_hookspecs.questions import ALLOW_ONCE, DENY, Question, QuestionAnswer
from hookline_hookspecs.secrets import redacted
from hookline_hookspecs.steps import Step
from hookline_hookspecs.tool_results import ToolOutput, ToolResult
from hookline_hookspecs.tools import Tool
from hookline_hookspecs.verdicts import Answer, Ask, Deny

from ..bus.implementation import MiddlewareError, describe, reraise_control_flow
from ..bus.validation import field_error
from ..questions.ask import AskResult, TurnParked, ask, same_question
from ..questions.table import AskingCall
from ..sessions.context import TurnContext
from ..text import clean

log = logging.getLogger("hookline.tools")
_THREADS = ThreadPoolExecutor(64, "hookline-tool")
"""Only for synchronous tools, so that slow ones do not delay other work in threads."""
MAX_RESULT_CHARS = 400_000
"""Maximum number of characters of a result that the model reads. Plugins may cut it earlier."""


class CallResolved(Exception):
    """The call got a result without being run."""

    def __init__(
        self,
        call: ToolCall,
        text: str,
        *,
        ok: bool = False,
        origins: tuple[Origin, ...] = (),
        shown: str = "",
        invalid: bool = False,
    ) -> None:
        self.result = ToolResult(call, text, ok, origins=origins, shown=shown, invalid=invalid)


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
    name, arguments = bridged["tool"], bridged.get("arguments") or {}
    deferred = [t.name for t in tools.values() if t.deferred and t.plugin == bridge.plugin]
    if name in deferred and isinstance(arguments, dict):
        return ToolCall(call.id, name, arguments)
    problem = f"no tool {name!r} is called through {call.name}"
    if similar := difflib.get_close_matches(str(name), deferred, 1):
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
    try:
        tool = _find_tool(ctx, registered, call)
        # A separate context, because calls may run in parallel.
        ctx = TurnContext(ctx.engine, ctx.state, ctx.active, tool)
        ignored = tool.ignorable_arguments(call.arguments)
        kept = {name: value for name, value in call.arguments.items() if name not in ignored}
        call = _check_arguments(tool, replace(call, arguments=kept))
        result = await _run_guarded(ctx, tool, call)
        result = replace(result, notes=(*result.notes, *filter(None, ignored.values())))
    except CallResolved as resolved:
        result = resolved.result
    result = await ctx.engine.bus.pipeline(
        "post_tool",
        ctx,
        result,
        finish=lambda changed: _readable_result(replace(changed, call=call)),
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
    approved = await _check_permission(ctx, tool, call)

    async def run(changed: ToolCall) -> ToolResult:
        if changed.name != tool.name:
            return _error_result(call, f"Error: a plugin turned {tool.name} into {changed.name}")
        try:
            if _fingerprint(changed) != approved:
                changed = _check_arguments(tool, changed)
                await _check_permission(ctx, tool, changed)
        except CallResolved as resolved:
            return resolved.result
        return await _execute(ctx, tool, changed)

    try:
        return await ctx.engine.bus.around("around_tool", ctx, replace(call), run, ToolResult)
    except MiddlewareError as error:
        return _error_result(call, f"Error: {error}; the tool did not run to its end")


def _fingerprint(call: ToolCall) -> str:
    """What an approval covers: the tool with exactly these arguments."""
    return json.dumps([call.name, call.arguments], sort_keys=True, default=repr)


async def _check_permission(ctx: TurnContext, tool: Tool, call: ToolCall) -> str:
    """Ask the guards, and a person if necessary; return the fingerprint of a permitted call.

    Raises:
        CallResolved: the call is denied, or a guard has answered it.
    """
    checked, fingerprint = replace(call), _fingerprint(call)
    ctx.approved = False
    decision = await ctx.engine.bus.guard("pre_tool", ctx, checked)
    if _fingerprint(checked) != fingerprint:
        raise CallResolved(call, "Denied: a plugin changed the arguments while they were checked")
    plugin, verdict = decision.plugin, decision.verdict
    if tool.approval and not isinstance(verdict, (Deny, Ask)):
        plugin, verdict = tool.plugin, Ask(tool.approval)
    if isinstance(verdict, Answer):
        raise CallResolved(call, verdict.text, ok=True, origins=verdict.origins or tool.origins)
    denial = await _ask_person(ctx, call, verdict) if isinstance(verdict, Ask) else verdict
    if denial is not None:
        shown = denial.shown or denial.reason
        ctx.notify(f"{tool.name} was refused: {shown}", plugin)
        raise CallResolved(call, f"Denied: {denial.reason}", shown=f"Denied: {shown}")
    return fingerprint


async def _ask_person(ctx: TurnContext, call: ToolCall, verdict: Ask) -> Deny | None:
    """Ask a person to approve the call; None if it was approved."""
    turn = ctx.active_turn
    if turn.mode == "yes":
        return None
    scopes = verdict.scopes
    if not scopes and not verdict.once:
        scopes = tuple(await _approval_scopes(ctx, call, verdict))
    reason = verdict.reason[:1].upper() + verdict.reason[1:]
    question = Question(
        text=f"Allow {call.name}? {reason}",
        choices=(ALLOW_ONCE, *(scope.label for scope in scopes), DENY),
        preview=_shown(call, verdict),
        kind="approval",
        call=replace(call),
        reason=reason,
        marks=verdict.marks,
        covers=("", *(scope.covers for scope in scopes), "") if scopes else (),
    )
    view, policy = ctx.of("core"), ctx.engine.services.get(ApprovalPolicy)
    if policy is not None and not verdict.once and await policy.granted(view, question) is not None:
        return None
    asking = AskingCall(key=_call_key(call, call.id))
    if not verdict.once:
        siblings = tuple(_call_key(call, other) for other in _identical_calls(ctx, call))
        same_call = same_question(question, _fingerprint(call))
        asking = replace(asking, same_call=same_call, siblings=siblings)
        question = _for_all(question, 1 + len(siblings))
    result = await ask(ctx, question, asking)
    answer = result.answer
    if answer is None or answer.choice not in question.choices[:-1]:
        return _denial(verdict.reason.rstrip("."), result)
    ctx.approved = True
    chosen = next((scope for scope in scopes if scope.label == answer.choice), None)
    if chosen is not None:
        await _remember(ctx, chosen, question, answer)
    return None


def _shown(call: ToolCall, verdict: Ask) -> str:
    """What the person decides by: the guards' details, then the call as it would be made."""
    command = call.arguments.get("command")
    if verdict.preview:
        deed = verdict.preview
    elif isinstance(command, str) and len(call.arguments) == 1:
        deed = command
    else:
        deed = json.dumps(call.arguments, ensure_ascii=False, indent=1)
    return "\n".join([*verdict.details, "", deed] if verdict.details else [deed])


def _call_key(call: ToolCall, call_id: str) -> str:
    """Identifies a call with exactly these arguments within its turn."""
    return f"{call_id}:{hashlib.sha256(_fingerprint(call).encode()).hexdigest()[:16]}"


def _identical_calls(ctx: TurnContext, call: ToolCall) -> list[str]:
    """The ids of the calls of the same response that are the same and have no result yet."""
    requested = {one.id: one for one in ctx.active_turn.entries[-1].message.tool_calls}
    own = requested.get(call.id)
    if own is None:
        return []
    return [
        one.id
        for one in requested.values()
        if one.id != call.id
        and one.id not in ctx.active_turn.finished
        and _fingerprint(one) == _fingerprint(own)
    ]


def _for_all(question: Question, count: int) -> Question:
    """The question, which says how many identical calls it is about."""
    if count == 1:
        return question
    note = f"The model makes this call {count} times; the answer is for all of them."
    return replace(question, text=f"{question.text}\n{note}")


async def _approval_scopes(ctx: TurnContext, call: ToolCall, ask: Ask) -> Sequence[OfferedScope]:
    """What the person may allow besides this call: permission rules, or exactly this call."""
    view, services = ctx.of("core"), ctx.engine.services
    rules, policy = services.get(PermissionRules), services.get(ApprovalPolicy)
    if ask.answered_by_rules and rules is not None:
        offered: Sequence[OfferedScope] = await rules.offered_scopes(view, call)
        return offered
    labels = await policy.scopes(view, call) if policy is not None else ()
    return [OfferedScope(label, (), "") for label in labels]


async def _remember(
    ctx: TurnContext, scope: OfferedScope, question: Question, answer: QuestionAnswer
) -> None:
    """Store what the person has allowed from now on."""
    if scope.remember is not None:
        await scope.remember()
        return
    view, services = ctx.of("core"), ctx.engine.services
    if not scope.rules:
        await services[ApprovalPolicy].remember(view, question, answer)
        return
    try:
        await services[PermissionRules].add_scope(view, scope, answer.by)
    except StoreError as error:
        ctx.notify(f"The call is allowed once; {scope.label!r} could not be stored: {error}")


def _denial(reason: str, result: AskResult) -> Deny:
    """The refusal of a call that nobody approved: a sentence for the model, and one to show."""
    if result.why in ("nobody", "unreachable"):
        shown = f"{reason}; no one can approve it."
        return Deny(f"{shown} Find another way, or stop and say so.", shown)
    if result.why == "expired":
        shown = f"{reason}; no one approved it in time."
        return Deny(f"{shown} Do not try it again in another form.", shown)
    if result.answer is not None and result.answer.words:
        words = result.answer.words
        return Deny(
            f"{reason}; the person did not approve it and says: {words}",
            f"{reason}; it was denied: {words}",
        )
    return Deny(
        f"{reason}; the person did not approve it. Do not try it again in another form.",
        f"{reason}; it was not approved.",
    )


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
        return _as_result(call, value)
    except (Refused, PermissionError) as error:
        return _error_result(call, f"Denied: {error}")
    except HooklineError as error:
        return _error_result(call, f"Error: {error}")
    except BaseException as error:
        reraise_control_flow(error)
        log.warning("tool %s failed", tool.name, exc_info=error)
        return _error_result(call, f"Error: {tool.name} failed: {describe(error)}")


def _run_sync(tool: Tool, arguments: dict[str, Any]) -> Any:
    try:
        return tool.run(**arguments)
    except (StopIteration, GeneratorExit) as error:
        # A future cannot carry these two exceptions.
        raise RuntimeError(f"it raised {type(error).__name__}") from error


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
