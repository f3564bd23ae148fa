"""What is recorded of a step: few fields, with secrets masked, and without the events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hookline_hookspecs import (
    Answer,
    Ask,
    Context,
    ContextBlock,
    Deny,
    ModelResponse,
    Origin,
    Question,
    Section,
    Step,
    ToolCall,
    ToolResult,
    merge_origins,
)

from .changes import describe_change, size
from .trace_masking import mask_json, mask_text

ANSWER_REASON = "answered itself; nothing inside it ran"


@dataclass(slots=True)
class RecordedStep:
    """One step. Times are seconds of ``time.perf_counter``; ``call`` is the tool call's id."""

    type: str
    name: str
    plugin: str
    started: float
    ended: float
    task: int
    call: str | None = None
    tool: str = ""
    owner: str = ""
    changed: dict[str, Any] | None = None
    verdict: str | None = None
    reason: str | None = None
    origins: tuple[Origin, ...] = ()


def record_step(
    ctx: Context, step: Step, inner: Step | None, task: int, chars: int
) -> RecordedStep:
    """Record ``step``; ``inner`` is the newest step around a call in the same task."""
    kind = step.hook if step.plugin == "core" and step.hook in ("model", "tool") else "hook"
    call = _call(step.event)
    seen = RecordedStep(
        kind, step.hook, step.plugin, step.started, step.started + step.seconds, task
    )
    if call is not None:
        seen.call, seen.tool = call.id, call.name
        seen.owner = ctx.tool.plugin if ctx.tool is not None else ""
    if kind == "model":
        _model(seen, step)
    elif kind == "tool":
        seen.name, seen.plugin = seen.tool, seen.owner or step.plugin
        _tool(seen, step, chars)
        declared = ctx.tool.origins if ctx.tool is not None else ()
        seen.origins = _origins(step.result, chars) or declared
    else:
        seen.changed = _changed(step, inner)
        seen.origins = _origins(step.result, chars)
        seen.verdict, reason = _verdict(step, inner)
        seen.reason = mask_text(reason, chars) if reason else None
    if step.failure is not None and seen.verdict is None:
        seen.verdict = "stopped" if not isinstance(step.failure, Exception) else "failed"
        seen.reason = mask_text(_failure(step.failure), chars)
    return seen


def _origins(result: Any, chars: int) -> tuple[Origin, ...]:
    """The origins of what a step has read."""
    parts = result if isinstance(result, list | tuple) else (result,)
    found = [part.origins for part in parts if isinstance(part, ContextBlock | ToolResult)]
    return tuple(
        [Origin(origin.kind, mask_text(origin.source, chars)) for origin in merge_origins(*found)]
    )


def _call(event: Any) -> ToolCall | None:
    if isinstance(event, ToolCall):
        return event
    if isinstance(event, ToolResult | Question):
        return event.call
    return None


def _model(seen: RecordedStep, step: Step) -> None:
    response = step.result
    seen.name = step.event.model or step.event.provider
    if isinstance(response, ModelResponse):
        used, broken = response.usage, response.broken
        seen.name, seen.verdict = response.model or seen.name, response.stop
        seen.reason = (
            f"{used.input} in ({used.cache_read} read, {used.cache_write} written, "
            f"{used.fresh} fresh), {used.output} out"
        )
        if broken is not None:
            seen.reason += f"; {broken.plugin} broke the prefix ({broken.tier})"


def _tool(seen: RecordedStep, step: Step, chars: int) -> None:
    """Add a tool call's arguments, and the error text if it failed."""
    seen.reason = mask_json(step.event.arguments, chars)
    if isinstance(step.result, ToolResult) and not step.result.ok:
        seen.verdict, seen.reason = "failed", mask_text(step.result.text, chars)


def _changed(step: Step, inner: Step | None) -> dict[str, Any] | None:
    event, result = step.event, step.result
    if step.kind == "collect":
        return _contributed(result)
    if step.kind == "around":
        return _around(step, inner)
    if result is None or type(result) is not type(event):
        return None
    return describe_change(event, result)


def _contributed(result: Any) -> dict[str, Any] | None:
    """The characters added to the prompt, by tag or slot."""
    parts = result if isinstance(result, list | tuple) else (result,)
    added: dict[str, int] = {}
    for part in parts:
        if isinstance(part, ContextBlock | Section):
            name = part.tag if isinstance(part, ContextBlock) else part.slot
            held = size(part.text) + (size(part.items) if isinstance(part, ContextBlock) else 0)
            added[name] = added.get(name, 0) + held
    if not any(added.values()):
        return None
    return {"fields": list(added), "removed": 0, "added": sum(added.values())}


def _around(step: Step, inner: Step | None) -> dict[str, Any] | None:
    """What middleware changed in the event it passed on and in the result it returned."""
    if inner is None or inner.started < step.started or step.result is None:
        return None
    found = []
    if type(inner.event) is type(step.event):
        found.append(describe_change(step.event, inner.event))
    if type(inner.result) is type(step.result):
        found.append(describe_change(inner.result, step.result))
    kept = [change for change in found if change is not None]
    if not kept:
        return None
    return {
        "fields": [name for change in kept for name in change["fields"]],
        "removed": sum(change["removed"] for change in kept),
        "added": sum(change["added"] for change in kept),
    }


def _verdict(step: Step, inner: Step | None) -> tuple[str | None, str]:
    match step.result:
        case Deny(reason):
            return "deny", reason
        case Ask(reason):
            return "ask", reason
        case Answer():
            return "answer", ""
        case str(text) if step.kind == "first":
            return "answer", text
    enclosed = inner is not None and inner.started >= step.started
    if step.kind == "around" and step.result is not None and not enclosed:
        return "answer", ANSWER_REASON
    return None, ""


def _failure(error: BaseException) -> str:
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
