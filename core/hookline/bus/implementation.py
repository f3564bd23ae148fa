"""One plugin's implementation of one hook, and how its errors are described."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from hookline_hookspecs import HookSpec, Step
from hookline_hookspecs.secrets import redacted

from ..bus.deadline import HookTimeout
from ..text import clean

_NOT_PLUGINS = ("asyncio", "hookline", "hookline_hookspecs", "importlib", "stevedore")
MAX_REASON_CHARS = 500
"""Maximum length of an error in a message; the log has the whole error."""


class PluginRefused(Exception):
    """A plugin cannot be registered; the text says why and what to do."""


@dataclass(slots=True, eq=False)
class Implementation:
    """One plugin's implementation of one hook.

    ``function`` is the plugin's method, and ``call(ctx, event)`` calls it with the arguments that
    it takes. ``place`` is the sort key of the call order. ``deadline`` is in seconds; None for no
    limit.
    """

    plugin: str
    spec: HookSpec
    deadline: float | None
    function: Callable[..., Any]
    call: Callable[[Any, Any], Any]
    place: tuple[int, int]
    preserves_streaming: bool = False
    """For ``pre_reply``: the plugin only adds to the reply."""

    def step(self, event: Any, result: Any, start: float, error: BaseException | None) -> Step:
        """Return the step that observers see; ``start`` is a value of ``time.perf_counter()``."""
        spec, seconds = self.spec, perf_counter() - start
        return Step(spec.name, self.plugin, spec.kind, event, result, start, seconds, error)


class MiddlewareError(Exception):
    """A middleware itself failed, not the call it wraps."""

    def __init__(self, impl: Implementation, cause: BaseException) -> None:
        super().__init__(f"plugin {impl.plugin} failed in {impl.spec.name}: {describe(cause)}")
        self.plugin = impl.plugin


class TurnInterruption(BaseException):
    """Core ends or parks the turn whose call runs. It passes through the tool and every hook."""


def is_plugin_error(error: BaseException) -> bool:
    """Return True if ``error`` is a failure of the plugin that raised it.

    False for exceptions that must propagate: Ctrl-C, a cancellation that was requested, and
    ``TurnInterruption``.
    """
    if isinstance(error, asyncio.CancelledError):
        try:
            task = asyncio.current_task()
        except RuntimeError:  # no event loop
            return True
        return task is None or not task.cancelling()
    return not isinstance(error, (KeyboardInterrupt, TurnInterruption))


def reraise_control_flow(error: BaseException) -> None:
    """Raise ``error`` again if it must propagate."""
    if not is_plugin_error(error):
        raise error


def error_text(error: BaseException) -> str:
    """Return ``str(error)``, cleaned for storage, without secrets; empty if ``str`` fails."""
    try:
        return redacted(clean(str(error)))
    except Exception:
        return ""


def describe(error: BaseException, deadline: float | None = None) -> str:
    """Describe an error in one line for people."""
    if isinstance(error, HookTimeout):
        return f"no answer within {deadline:g} s" if deadline else "it ran too long"
    text = error_text(error).strip().split("\n")[0][:MAX_REASON_CHARS]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def error_location(error: BaseException) -> str:
    """Return `` (FILE:LINE)`` of the innermost frame of the plugin's own code, if any.

    Core, hookspecs and the import system are left out: an error that they raise is located
    where the plugin called them.
    """
    found, trace = "", error.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        module = str(frame.f_globals.get("__name__"))
        if module.partition(".")[0] not in _NOT_PLUGINS:
            found = f" ({frame.f_code.co_filename}:{trace.tb_lineno})"
        trace = trace.tb_next
    return found
