"""Calls one implementation: watched, within its deadline, isolated from the others."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from time import perf_counter
from types import CoroutineType
from typing import Any, TypeAlias

from hookline_hookspecs import HOOKS, Deny, PluginFailure, Step
from hookline_hookspecs.hooks import GUARDS

from ..bus.deadline import drive, finish
from ..bus.implementation import Implementation, PluginRefused, describe, is_fault
from ..bus.registration import Deadlines, Registry
from ..bus.shapes import listed, mistake_in
from ..bus.signals import SignalHub
from ..bus.watchdog import PluginCode, Watchdog

log = logging.getLogger("hookline.bus")
MOST_FAILURES = 3
"""Failures in a row that switch a plugin off for the session (DESIGN §3)."""

Observer: TypeAlias = Callable[[Any, Step], None]
"""Called as ``(ctx, step)`` after each step."""


class Invoker(Registry):
    """Calls registered implementations one at a time, and records how each call went.

    Args:
        strict: raise a plugin's errors instead of isolating them (``HOOKLINE_STRICT=1``).
        deadlines: seconds by hook, in place of the specs' own; for tests.
    """

    def __init__(self, *, strict: bool = False, deadlines: Deadlines | None = None) -> None:
        super().__init__(deadlines or {})
        self.strict = strict
        self.watchdog = Watchdog()
        self.signals = SignalHub(self.watchdog)
        self.observers: list[Observer] = []

    async def attempt(self, impl: Implementation, ctx: Any, event: Any) -> Any:
        """One implementation's result, under watch and deadline. Raises what it raises."""
        watchdog = self.watchdog
        before = watchdog.begin(impl)
        try:
            result = impl.call(None if ctx is None else ctx.of(impl.plugin), event)
            if type(result) is not CoroutineType:
                if result is None or not hasattr(result, "__await__"):
                    return result
                result = _awaited(result)
            try:
                waiting_for = result.send(None)
            except StopIteration as stop:
                return stop.value
        finally:
            watchdog.end(before)
        slow = None
        if ctx is not None and not (impl.spec.asks or impl.spec.background):
            slow = partial(ctx.notify, f"Waiting for plugin {impl.plugin} ({impl.where}).")
        return await finish(result, waiting_for, watchdog, impl, slow)

    async def run(
        self, plugin: str, where: str, function: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Any:
        """Call a plugin's function that is no hook, under watch, and await what it returns."""
        work = PluginCode(plugin, where)
        result = self.watchdog.call(work, function, *args, **kwargs)
        if result is None or not hasattr(result, "__await__"):
            return result
        coroutine = result if type(result) is CoroutineType else _awaited(result)
        return await drive(coroutine, self.watchdog, work)

    async def step(self, impl: Implementation, ctx: Any, event: Any, *kinds: type) -> Any:
        """One implementation's result, or what its failure means.

        The result is one of ``kinds`` or None. That of a ``collect`` hook may be a list, and
        anything in it; a failed guard's is a ``Deny``.
        """
        start = perf_counter() if self.observers else 0.0
        result: Any = None
        failure: BaseException | None = None
        try:
            result = await self.attempt(impl, ctx, event)
            if result is not None and kinds:
                failure = self._mistake_in(impl, result, kinds)
        except BaseException as error:
            if not is_fault(error):
                raise
            result, failure = None, error
        if failure is not None:
            self.record_failure(impl, ctx, failure)
            if impl.spec.kind in GUARDS:
                reason = f"the guard {impl.plugin} failed, so the answer is no: {describe(failure)}"
                result = Deny(reason)
            elif impl.spec.kind != "collect":
                result = None
        elif ctx is not None and ctx.failures:
            ctx.failures.pop(impl.plugin, None)
        if start:
            self.notify_observers(ctx, impl.step(event, result, start, failure))
        return result

    @staticmethod
    def _mistake_in(impl: Implementation, result: Any, kinds: tuple[type, ...]) -> Exception | None:
        items = listed(result) if impl.spec.kind == "collect" else (result,)
        wrong = (mistake_in(item, *kinds) for item in items if item is not None)
        return next(filter(None, wrong), None)

    def gather_one(self, impl: Implementation, register: Callable[..., None]) -> None:
        """Call one plugin's ``register_*`` hook."""
        try:
            self.watchdog.call(impl, impl.function, register)
        except PluginRefused:
            raise
        except BaseException as error:
            if not is_fault(error):
                raise
            self.record_failure(impl, None, error)

    def notify_observers(self, ctx: Any, step: Step) -> None:
        """Show a step to every observer; one that fails does not harm the step."""
        for observer in self.observers:
            try:
                observer(ctx, step)
            except Exception as error:
                log.warning("an observer of %s failed", step.hook, exc_info=error)

    def record_failure(self, impl: Implementation, ctx: Any, error: BaseException) -> None:
        """Log a failure and send ``plugin_failed``; switch the plugin off after the third in a row.

        A plugin that guards stays on. In strict mode ``error`` is raised.
        """
        if self.strict:
            raise error
        plugin, hook, reason = impl.plugin, impl.spec.name, describe(error, impl.deadline)
        log.warning("plugin %s failed in %s: %s", plugin, hook, reason, exc_info=error)
        off = False
        if ctx is not None and impl.spec.kind != "around" and not self._is_guard(plugin):
            failures = ctx.failures[plugin] = ctx.failures.get(plugin, 0) + 1
            off = failures >= MOST_FAILURES
        if off:
            ctx.disabled.add(plugin)
            often = f"failed {MOST_FAILURES} times in a row ({hook}: {reason})"
            ctx.notify(f"Plugin {plugin} {often} and is off for this session.")
        self.signals.send("plugin_failed", PluginFailure(plugin, hook, reason, off), ctx)

    def _is_guard(self, plugin: str) -> bool:
        guards = (self.table[hook] for hook, spec in HOOKS.items() if spec.kind in GUARDS)
        return any(impl.plugin == plugin for found in guards for impl in found)


async def _awaited(awaitable: Awaitable[Any]) -> Any:
    return await awaitable
