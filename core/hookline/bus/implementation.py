"""One plugin's implementation of one hook: how it is checked, called and described."""

from __future__ import annotations

import asyncio
import difflib
import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

from hookline_hookspecs import HOOKS, HookSpec
from hookline_hookspecs.hooks import PROJECT

from ..bus.watchdog import HookTimeout
from ..text import clean

LONGEST_REASON = 500
"""Characters of an error that are shown; the log has the rest."""


class PluginRefused(Exception):
    """A plugin cannot be registered; the text says why and what to do."""


class Implementation:
    """One plugin's implementation of one hook."""

    __slots__ = ("call", "function", "plugin", "spec")

    def __init__(self, spec: HookSpec, plugin: str, function: Callable[..., Any]) -> None:
        self.spec = spec
        self.plugin = plugin
        self.function = function
        self.call: Callable[[Any, Any], Any] = function


def is_fault(error: BaseException) -> bool:
    """True if code that raised ``error`` has failed, whatever the kind of the error.

    False for what must go on: Ctrl-C, and a cancellation that somebody has asked for.
    """
    if isinstance(error, asyncio.CancelledError):
        try:
            task = asyncio.current_task()
        except RuntimeError:  # no event loop
            return True
        return task is None or not task.cancelling()
    return not isinstance(error, KeyboardInterrupt)


def words(error: BaseException) -> str:
    """``str(error)``; one that cannot say what it is says nothing."""
    try:
        return clean(str(error))
    except Exception:
        return ""


def describe(error: BaseException, deadline: float | None = None) -> str:
    """An error as one line for people."""
    if isinstance(error, HookTimeout):
        return f"no answer within {deadline:g} s" if deadline else "it ran too long"
    text = words(error).strip().split("\n")[0][:LONGEST_REASON]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def wrong_type(value: object, *wanted: Any) -> TypeError:
    names = " or ".join(getattr(kind, "__name__", str(kind)) for kind in wanted)
    return TypeError(f"it returned {type(value).__name__} where {names} or None is wanted")


@cache
def _texts(kind: type) -> tuple[str, ...]:
    return tuple(f.name for f in fields(kind) if f.type == "str") if is_dataclass(kind) else ()


def misshapen(value: object) -> TypeError | None:
    """What is wrong with the first field that should hold text and does not."""
    kind: Any = type(value)
    for name in _texts(kind):
        if not isinstance(part := getattr(value, name), str):
            found = type(part).__name__
            return TypeError(f"it returned {kind.__name__} with {found} as its {name}")
    return None


def adapt(
    function: Callable[..., Any], argnames: tuple[str, ...], spec: HookSpec
) -> Callable[[Any, Any], Any]:
    """``function`` as a call of ``(ctx, event)``: implementations may take fewer arguments."""
    names = tuple(argnames)
    if names == ("ctx", spec.event):
        return function
    if names == (spec.event,):
        return lambda _ctx, event: function(event)
    if names == ("ctx",):
        return lambda ctx, _event: function(ctx)
    if not names:
        return lambda _ctx, _event: function()
    return lambda ctx, event: function(**{n: ctx if n == "ctx" else event for n in names})


def check_hooks(plugin_name: str, plugin: object) -> None:
    """Refuse misspelt hooks, wrappers and coroutines where a hook is synchronous."""
    for attribute in dir(type(plugin)):
        function = getattr(type(plugin), attribute, None)
        options = getattr(function, f"{PROJECT}_impl", None)
        if options is None:
            continue
        hook = options.get("specname") or attribute
        if hook not in HOOKS:
            near = difflib.get_close_matches(hook, HOOKS, 1)
            hint = f"did you mean {near[0]}?" if near else "see `hookline hooks` for their names"
            raise PluginRefused(f"{plugin_name} implements {hook}, which is no hook; {hint}")
        if options.get("wrapper") or options.get("hookwrapper"):
            raise PluginRefused(
                f"{plugin_name} implements {hook} as a pluggy wrapper; use around_model or "
                f"around_tool, which return middleware"
            )
        taken = inspect.signature(getattr(plugin, attribute)).parameters.values()
        asked = [one.name for one in taken if one.default is one.empty]
        if odd := [name for name in asked if name not in ("ctx", HOOKS[hook].event)]:
            raise PluginRefused(
                f"{plugin_name}: {hook} is called with ctx and {HOOKS[hook].event}, so it cannot "
                f"take {odd[0]}; the names count"
            )
        if HOOKS[hook].sync and inspect.iscoroutinefunction(function):
            raise PluginRefused(f"{plugin_name}: {hook} is called synchronously; write `def`")


def first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return " ".join(lines[:4])
