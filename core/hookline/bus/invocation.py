"""Calls one implementation: watched, within its deadline, isolated from the others."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from time import perf_counter
from types import CoroutineType
from typing import Any, TypeAlias

from hookline_hookspecs import HOOKS, Deny, PluginFailure, Step

from ..bus.deadline import STEP_LIMIT, drive, finish
from ..bus.implementation import Implementation, PluginRefused, describe, is_fault
from ..bus.registration import Registry
from ..bus.shapes import listed, wrong_field, wrong_type
from ..bus.signals import SignalHub
from ..bus.watchdog import PluginCode, Watchdog

log = logging.getLogger("hookline.bus")
MOST_FAILURES = 3
"""Failures in a row that switch a plugin off for the session (DESIGN §3)."""

Observer: TypeAlias = Callable[[Any, Step], None]
"""Called as ``(ctx, step)`` after each step."""


class WrongPart(Exception):
    """An implementation returned something in which a part is wrong: ``(value, error)``."""


class Invoker(Registry):
    """Calls registered implementations one at a time, and records how each call went.

    Args:
        strict: raise a plugin's errors instead of isolating them (``HOOKLINE_STRICT=1``).
        deadlines: seconds by hook, in place of the specs' own; for tests.
    """

    def __init__(
        self, *, strict: bool = False, deadlines: dict[str, float | None] | None = None
    ) -> None:
        super().__init__()
        self.strict = strict
        self.watchdog = Watchdog()
        self.signals = SignalHub(self.watchdog)
        self.observers: list[Observer] = []
        self._deadlines = {name: spec.deadline for name, spec in HOOKS.items()}
        self._deadlines.update(deadlines or {})

    def deadline(self, hook: str) -> float | None:
        """Seconds an implementation of ``hook`` may take."""
        return self._deadlines[hook]

    async def attempt(
        self, impl: Implementation, ctx: Any, event: Any, start: float | None = None
    ) -> Any:
        """One implementation's result, under watch and deadline. Raises what it raises."""
        deadline = self._deadlines[impl.spec.name]
        watchdog = self.watchdog
        # A hook without a deadline of its own may still not block the event loop for ever.
        before = watchdog.begin(impl, (start or perf_counter()) + (deadline or STEP_LIMIT))
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
            slow = partial(_tell_who_is_slow, ctx, impl)
        return await finish(result, waiting_for, watchdog, impl, deadline, slow)

    async def run(
        self, plugin: str, where: str, function: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Any:
        """Call a plugin's function that is no hook, under watch, and await what it returns."""
        work = PluginCode(plugin, where)
        before = self.watchdog.begin(work, perf_counter() + STEP_LIMIT)
        try:
            result = function(*args, **kwargs)
        finally:
            self.watchdog.end(before)
        if result is None or not hasattr(result, "__await__"):
            return result
        coroutine = result if type(result) is CoroutineType else _awaited(result)
        return await drive(coroutine, self.watchdog, work)

    async def step(
        self,
        impl: Implementation,
        ctx: Any,
        event: Any,
        kinds: tuple[type, ...] | None = None,
        closed: bool = False,
        many: bool = False,
    ) -> Any:
        """One implementation's result, or what its failure means.

        The result is one of ``kinds`` or None, with ``many`` a list of such. ``closed``: a failure
        is a ``Deny``.
        """
        start = perf_counter()
        failure: BaseException | None = None
        result: Any = None
        try:
            result = await self.attempt(impl, ctx, event, start)
            if result is not None and kinds is not None:
                for item in listed(result) if many else (result,):
                    if item is not None and not isinstance(item, kinds):
                        raise WrongPart(result, wrong_type(item, *kinds))
                    if (wrong := wrong_field(item)) is not None:
                        raise WrongPart(result, wrong)
            if ctx is not None and ctx.failures:
                ctx.failures.pop(impl.plugin, None)
        except BaseException as error:
            if not is_fault(error):
                raise
            value, failure = error.args if isinstance(error, WrongPart) else (None, error)
            self.record_failure(impl, ctx, failure)
            reason = f"the guard {impl.plugin} failed, so the answer is no: {describe(failure)}"
            result = Deny(reason) if closed else value if many else None
        if self.observers:
            self.record_step(impl, ctx, event, result, start, failure)
        return result

    def gather_one(self, impl: Implementation, register: Callable[..., None]) -> None:
        """Call one plugin's ``register_*`` hook."""
        deadline = self._deadlines[impl.spec.name] or STEP_LIMIT
        before = self.watchdog.begin(impl, perf_counter() + deadline)
        try:
            impl.function(register)
        except PluginRefused:
            raise
        except BaseException as error:
            if not is_fault(error):
                raise
            self.record_failure(impl, None, error)
        finally:
            self.watchdog.end(before)

    def record_step(
        self,
        impl: Implementation,
        ctx: Any,
        event: Any,
        result: Any,
        start: float,
        failure: BaseException | None,
    ) -> None:
        """Show a call that is over to the observers."""
        spec, seconds = impl.spec, perf_counter() - start
        step = Step(spec.name, impl.plugin, spec.kind, event, result, start, seconds, failure)
        self.notify_observers(ctx, step)

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
        hook = impl.spec.name
        if self.strict:
            raise error
        reason = describe(error, self._deadlines[hook])
        log.warning("plugin %s failed in %s: %s", impl.plugin, hook, reason, exc_info=error)
        off = False
        if ctx is not None and impl.plugin not in self.guards and impl.spec.kind != "around":
            failures = ctx.failures[impl.plugin] = ctx.failures.get(impl.plugin, 0) + 1
            off = failures >= MOST_FAILURES
        if off:
            ctx.disabled.add(impl.plugin)
            ctx.notify(
                f"Plugin {impl.plugin} failed {MOST_FAILURES} times in a row ({hook}: {reason}) "
                f"and is off for this session."
            )
        self.signals.send("plugin_failed", PluginFailure(impl.plugin, hook, reason, off), ctx)


def _tell_who_is_slow(ctx: Any, impl: Implementation) -> None:
    ctx.notify(f"Waiting for plugin {impl.plugin} ({impl.where}).")


async def _awaited(awaitable: Awaitable[Any]) -> Any:
    return await awaitable
