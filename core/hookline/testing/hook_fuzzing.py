"""Calls a plugin's hooks with hostile events and describes problems in sentences."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hookline_hookspecs import (
    HOOKS,
    Answer,
    Ask,
    ContextBlock,
    Deny,
    ModelResponse,
    Section,
    ToolResult,
)

from hookline.bus.bus import Bus
from hookline.bus.deadline import HookTimeout
from hookline.bus.implementation import Implementation, describe
from hookline.bus.validation import as_sequence
from hookline.sessions.context import TurnContext

from .hostile_events import Case, answer

MAX_PROBLEMS = 3
"""Maximum number of problems reported for a hook; further ones usually have the same cause."""
CONTRIBUTIONS: dict[str, type] = {"system_prompt": Section, "pre_prompt": ContextBlock}
MIDDLEWARE_RESULTS: dict[str, type] = {"around_tool": ToolResult, "around_model": ModelResponse}


async def check_hook(
    bus: Bus, implementation: Implementation, ctx: TurnContext, cases: Iterable[Case]
) -> list[str]:
    """Call one hook of a plugin with every event; return a sentence for each problem."""
    problems: list[str] = []
    for case in cases:
        event, original = case.make(), case.make()
        view = (
            ctx if case.tool is None else TurnContext(ctx.engine, ctx.state, ctx.active, case.tool)
        )
        problem = await _call_hook(bus, implementation, view, case, event)
        if problem is None and event != original:
            problem = (
                f"changed its event ({case.label}), which other plugins share; "
                f"return a changed copy (dataclasses.replace, dict(…)) instead"
            )
        if problem is not None:
            where = f"{implementation.plugin}.{implementation.spec.name}"
            problems.append(f"{where} {problem}.")
        if len(problems) == MAX_PROBLEMS or (problem and "did not return" in problem):
            break
    return problems


async def _call_hook(
    bus: Bus, implementation: Implementation, ctx: TurnContext, case: Case, event: Any
) -> str | None:
    hook = implementation.spec.name
    try:
        result = await bus.attempt(implementation, ctx, event)
        if hook in MIDDLEWARE_RESULTS and callable(result):
            result = await result(event, _call_next(hook))
            return _wrong_type(result, (MIDDLEWARE_RESULTS[hook],), case)
    except HookTimeout:
        return f"did not return within {implementation.deadline:g} s for {case.label}"
    except (Exception, SystemExit) as error:
        return (
            f"raised {describe(error)} ({_error_location(error)}) for {case.label}; a hook "
            "receives anything that a person, a model or a server sends, so check it before use"
        )
    return _result_problem(hook, result, event, case)


def _call_next(hook: str) -> Any:
    async def call_next(event: Any) -> Any:
        return answer(hook, event)

    return call_next


def _result_problem(hook: str, result: Any, event: Any, case: Case) -> str | None:
    """Describe a result of the wrong type for the hook's kind; None if it is right."""
    kind = HOOKS[hook].kind
    if result is None or kind == "observe":
        return None
    if kind == "around":
        return (
            f"returned {type(result).__name__} for {case.label}; "
            "expected middleware, an `async def mw(event, call_next)`, or None"
        )
    expected: dict[str, tuple[type, ...]] = {
        "collect": (CONTRIBUTIONS.get(hook, object),),
        "pipeline": (type(event),),
        "guard": (type(event), Deny) if HOOKS[hook].rewrites else (Deny, Ask, Answer),
        "first": (str,),
    }
    items = as_sequence(result) if kind == "collect" else (result,)
    return next((c for i in items if (c := _wrong_type(i, expected[kind], case))), None)


def _wrong_type(result: Any, expected: tuple[type, ...], case: Case) -> str | None:
    if isinstance(result, expected):
        return None
    names = " or ".join(kind.__name__ for kind in expected)
    return f"returned {type(result).__name__} for {case.label}; expected {names}"


def _error_location(error: BaseException) -> str:
    """Return the file and line of the innermost frame."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return "nowhere"
    return f"{trace.tb_frame.f_code.co_filename.rpartition('/')[2]}, line {trace.tb_lineno}"
