"""The event bus: the one place where core calls plugins.

pluggy defines the hooks and checks registrations, and blinker notifies listeners afterwards. This
package calls the implementations itself, so that they may be coroutines, are isolated, timed and
limited by a deadline, and errors can be attributed to their plugin.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from types import CoroutineType
from typing import Any, Generic, TypeAlias, TypeVar

from hookline_hookspecs import HOOKS, Answer, Ask, Denial, Deny, Step
from hookline_hookspecs.errors import ProviderError
from hookline_hookspecs.verdicts import Verdict

from ..bus.deadline import finish
from ..bus.implementation import (
    Implementation,
    MiddlewareError,
    PluginRefused,
    describe,
    error_location,
    is_plugin_error,
    reraise_control_flow,
)
from ..bus.monitor import BlockedLoop
from ..bus.registration import Deadlines, Registry
from ..bus.signals import SignalHub
from ..bus.validation import as_sequence, type_error, unexpected_type

log = logging.getLogger("hookline.bus")
MAX_FAILURES = 3
"""Consecutive failures after which a plugin is off for the session."""
AGAIN = " A new session has it again (/new)."

E = TypeVar("E")
Call: TypeAlias = Callable[[Any], Awaitable[E]]
Check: TypeAlias = "Callable[[Implementation, E, E], E] | None"
"""Called as ``(implementation, before, after)``; returns the event to continue with."""
Finish: TypeAlias = "Callable[[E], E] | None"
Observer: TypeAlias = Callable[[Any, Step], None]
"""Called as ``(ctx, step)`` after each step."""
Again: TypeAlias = Callable[[BaseException], Awaitable[bool]]
"""Called with a guard's failure; True to ask that guard again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardFailed(Deny):
    """The verdict of a guard that failed with ``error``."""

    error: BaseException


class MissingGuard(ProviderError):
    """A guard is on in config but failed to load, so no model is called and nothing is done."""


@dataclass(frozen=True, slots=True)
class Decision(Generic[E]):
    """What the guards of a hook decided.

    ``event`` is the event as they rewrote it. ``verdict`` is the strictest verdict, None if no
    guard objects, and ``plugin`` the plugin that gave it.
    """

    event: E
    verdict: Verdict | None = None
    plugin: str = ""


_STRICTNESS: dict[type, int] = {Deny: 3, GuardFailed: 3, Ask: 2, Answer: 1}
_HOOK_OF = {spec.registers: name for name, spec in HOOKS.items() if spec.registers is not None}


class Bus(Registry):
    """Registers plugins and calls their hooks, with one method for each kind of hook.

    Every implementation is limited by its deadline and isolated from the others. A deadline can
    only end a coroutine; what a ``def`` does cannot be interrupted.

    Args:
        strict: raise a plugin's errors instead of isolating them (``HOOKLINE_STRICT=1``).
        deadlines: seconds by hook, overriding those of the specs; for tests.
    """

    def __init__(self, *, strict: bool = False, deadlines: Deadlines | None = None) -> None:
        super().__init__(deadlines or {})
        self.strict = strict
        self.signals = SignalHub()
        self.observers: list[Observer] = []
        self.missing_guards: dict[str, str] = {}
        """Why nothing may be done, by the guard that config has on and that failed to load."""
        self.retry_guards: Callable[[], Awaitable[None]] | None = None
        """Loads the missing guards again, or forgets them if config has turned them off."""
        self._is_retrying = False

    def implementations(self, hook: str) -> tuple[Implementation, ...]:
        """Return the implementations of ``hook`` in call order."""
        return self.table[hook]

    def must_buffer_reply(self) -> bool:
        """Return True if a plugin may change a reply, so that it must not be streamed."""
        return not all(impl.preserves_streaming for impl in self.table["pre_reply"])

    async def observe(self, hook: str, ctx: Any, event: Any) -> None:
        """Call every implementation, then send the signal."""
        for impl in self._enabled(hook, ctx):
            await self._step(impl, ctx, event)
        self.signals.send(hook, event, ctx)

    async def collect(self, hook: str, ctx: Any, event: Any, kind: type[E]) -> list[tuple[str, E]]:
        """Return each contribution of type ``kind`` with its plugin's name; lists are flattened."""
        found: list[tuple[str, E]] = []
        for impl in self._enabled(hook, ctx):
            result = await self._step(impl, ctx, event, kind)
            items = () if result is None else as_sequence(result)
            found += [(impl.plugin, item) for item in items if type_error(item, kind) is None]
        self.signals.send(hook, event, ctx)
        return found

    async def pipeline(
        self, hook: str, ctx: Any, event: E, check: Check[E] = None, finish: Finish[E] = None
    ) -> E:
        """Pass ``event`` through every implementation; ``check`` may undo each change.

        ``finish`` is applied to the result before the signal is sent.
        """
        for impl in self._enabled(hook, ctx):
            result = await self._step(impl, ctx, event, type(event))
            if result is not None:
                event = result if check is None else check(impl, event, result)
        if finish is not None:
            event = finish(event)
        self.signals.send(hook, event, ctx)
        return event

    async def first(self, hook: str, ctx: Any, event: Any, *kinds: type[Any]) -> Any:
        """Return the first result that is not None; it has one of the types ``kinds``."""
        answer = None
        for impl in self._enabled(hook, ctx):
            answer = await self._step(impl, ctx, event, *kinds)
            if answer is not None:
                break
        self.signals.send(hook, event, ctx)
        return answer

    async def guard(self, hook: str, ctx: Any, event: E, again: Again | None = None) -> Decision[E]:
        """Ask every guard; the strictest verdict wins: Deny > Ask > Answer > None.

        Several ``Ask`` become one, with every reason and preview. Where the hook's spec
        ``rewrites``, a guard may return a changed event for the guards after it, and the first
        ``Deny`` ends the call. A guard that fails denies with :class:`GuardFailed`, unless
        ``again`` returns True for its error: it is then called again. While a guard is missing,
        everything is denied.

        Sends the hook's own signal, except for an event of a rewriting hook that was denied, and
        after a ``Deny`` the signal ``denied``.
        """
        decision = Decision(event)
        if (found := await self.missing_guard()) is not None:
            missing, reason = found
            denied = GuardFailed(reason, error=MissingGuard(reason))
            self.signals.send("denied", Denial(hook, missing, event, reason), ctx)
            return Decision(event, denied, missing)
        for impl in self._enabled(hook, ctx):
            result = await self._ask_guard(impl, ctx, decision.event, again)
            if isinstance(result, type(event)):
                decision = replace(decision, event=result)
            elif result is not None:
                decision = _stricter(decision, impl.plugin, result)
            if impl.spec.rewrites and isinstance(result, Deny):
                break
        verdict = decision.verdict
        if not (isinstance(verdict, Deny) and HOOKS[hook].rewrites):
            self.signals.send(hook, decision.event, ctx)
        if isinstance(verdict, Deny):
            denial = Denial(hook, decision.plugin, decision.event, verdict.reason)
            self.signals.send("denied", denial, ctx)
        return decision

    async def missing_guard(self) -> tuple[str, str] | None:
        """Return a guard that is missing although it was tried again, and why nothing may be done.

        A call meanwhile finds it missing.
        """
        if self.missing_guards and self.retry_guards is not None and not self._is_retrying:
            self._is_retrying = True
            try:
                await self.retry_guards()
            finally:
                self._is_retrying = False
        return next(iter(self.missing_guards.items()), None)

    async def _ask_guard(
        self, impl: Implementation, ctx: Any, event: Any, again: Again | None
    ) -> Any:
        """Return a guard's result, repeating the call while ``again`` returns True.

        A plugin that is switched off meanwhile is not called again.
        """
        kinds = (type(event), Deny) if impl.spec.rewrites else (Deny, Ask, Answer)
        result = None
        while impl in self.table[impl.spec.name]:
            result = await self._step(impl, ctx, event, *kinds)
            if (
                again is None
                or not isinstance(result, GuardFailed)
                or not await again(result.error)
            ):
                break
        return result

    async def around(self, hook: str, ctx: Any, event: Any, core: Call[E], kind: type[E]) -> E:
        """Run ``core(event)`` inside every middleware, the first plugin outermost.

        Raises:
            MiddlewareError: a middleware itself failed or returned the wrong type.
        """
        call = core
        for impl in reversed(self.table[hook]):
            middleware = await self._middleware(impl, ctx, event)
            if middleware is not None:
                call = partial(self._enclose, impl, ctx, middleware, call, kind)
        result = await call(event)
        self.signals.send(hook, event, ctx)
        return result

    def gather(
        self, hook: str, register: Callable[[str], Callable[..., None]], only: str | None = None
    ) -> None:
        """Call a synchronous ``register_*`` hook, of the plugin ``only`` or of every one.

        ``register(plugin)`` returns the hook's argument.
        """
        for impl in self.table[hook]:
            if only not in (None, impl.plugin):
                continue
            try:
                impl.function(register(impl.plugin))
            except PluginRefused:
                raise
            except BaseException as error:
                reraise_control_flow(error)
                self._record_failure(impl, None, error)

    def registered(self, kind: type[E]) -> list[tuple[str, E]]:
        """Return everything of a type that a hook's spec ``registers``, with each plugin's name.

        Raises:
            KeyError: no hook registers this type.
        """
        found: list[tuple[str, E]] = []

        def add(plugin: str, part: Any) -> None:
            if not isinstance(part, kind):
                raise unexpected_type(part, kind)
            found.append((plugin, part))

        self.gather(_HOOK_OF[kind], lambda plugin: partial(add, plugin))
        return found

    async def attempt(self, impl: Implementation, ctx: Any, event: Any) -> Any:
        """Return one implementation's result, within its deadline. Raises what it raises."""
        result = impl.call(None if ctx is None else ctx.of(impl.plugin), event)
        if type(result) is not CoroutineType:
            if result is None or not hasattr(result, "__await__"):
                return result
            result = _awaited(result)
        try:
            waiting_for = result.send(None)
        except StopIteration as stop:
            return stop.value
        on_slow = None
        if ctx is not None and not impl.spec.asks and not impl.spec.background:
            on_slow = partial(ctx.notify, f"Waiting for plugin {impl.plugin} ({impl.spec.name}).")
        return await finish(result, waiting_for, impl.deadline, on_slow)

    def report_block(self, block: BlockedLoop) -> None:
        """Record that a plugin blocked the event loop, as one of its failures."""
        reason = f"blocked the event loop for {block.seconds:.1f} s ({block.location})"
        self.signals.send_failure(block.plugin, block.function, reason)

    def notify_observers(self, ctx: Any, step: Step) -> None:
        """Call every observer with a step; if one fails, the step is not affected."""
        for observer in self.observers:
            try:
                observer(ctx, step)
            except Exception as error:
                log.warning("an observer of %s failed", step.hook, exc_info=error)

    def _enabled(self, hook: str, ctx: Any) -> tuple[Implementation, ...] | list[Implementation]:
        found = self.table[hook]
        if not found or ctx is None or not ctx.disabled:
            return found
        return [impl for impl in found if impl.plugin not in ctx.disabled]

    async def _step(self, impl: Implementation, ctx: Any, event: Any, *kinds: type) -> Any:
        """Call one implementation, record a failure, and return the result.

        The result is one of ``kinds`` or None; for a ``collect`` hook it may also be a list, with
        any items. It is ``GuardFailed`` for a guard that failed, and None for other failures.
        """
        start = perf_counter() if self.observers else 0.0
        result: Any = None
        failure: BaseException | None = None
        try:
            result = await self.attempt(impl, ctx, event)
            if result is not None and kinds:
                failure = self._result_error(impl, result, kinds)
        except BaseException as error:
            reraise_control_flow(error)
            result, failure = None, error
        if failure is not None:
            self._record_failure(impl, ctx, failure)
            if impl.spec.kind == "guard":
                reason = f"guard '{impl.plugin}' failed: {describe(failure)}"
                result = GuardFailed(reason, error=failure)
            elif impl.spec.kind != "collect":
                result = None
        elif ctx is not None and ctx.failures:
            ctx.failures.pop(impl.plugin, None)
        if start:
            self.notify_observers(ctx, impl.step(event, result, start, failure))
        return result

    @staticmethod
    def _result_error(
        impl: Implementation, result: Any, kinds: tuple[type, ...]
    ) -> Exception | None:
        items = as_sequence(result) if impl.spec.kind == "collect" else (result,)
        wrong = (type_error(item, *kinds) for item in items if item is not None)
        return next(filter(None, wrong), None)

    async def _middleware(self, impl: Implementation, ctx: Any, event: Any) -> Any:
        """Return the middleware of an implementation, or None. Raises ``MiddlewareError``."""
        try:
            made = await self.attempt(impl, ctx, event)
            if made is None or callable(made):
                return made
            raise unexpected_type(made, "middleware: async def mw(event, call_next)")
        except BaseException as error:
            reraise_control_flow(error)
            self._record_failure(impl, ctx, error)
            raise MiddlewareError(impl, error) from error

    async def _enclose(
        self, impl: Implementation, ctx: Any, middleware: Any, inner: Call[E], kind: Any, event: Any
    ) -> Any:
        """Run ``inner(event)`` inside a middleware; ``MiddlewareError`` if the middleware fails."""
        inner_errors: list[BaseException] = []

        async def call_next(changed: Any) -> E:
            try:
                return await inner(changed)
            except BaseException as error:
                inner_errors.append(error)
                raise

        start = perf_counter()
        result: Any = None
        failure: BaseException | None = None
        try:
            result = await middleware(event, call_next)
            if (wrong := type_error(result, kind)) is not None:
                raise wrong
            return result
        except BaseException as error:
            failure = error
            # If it is the same object, the inner call failed, not the middleware.
            is_inner = any(error is inner_error for inner_error in inner_errors)
            is_deliberate = isinstance(error, (MiddlewareError, ProviderError))
            if is_deliberate or is_inner or not is_plugin_error(error):
                raise
            self._record_failure(impl, ctx, error)
            raise MiddlewareError(impl, error) from error
        finally:
            if self.observers:
                self.notify_observers(ctx, impl.step(event, result, start, failure))

    def _record_failure(self, impl: Implementation, ctx: Any, error: BaseException) -> None:
        """Log a failure and send ``plugin_failed``; switch the plugin off after three in a row.

        A plugin with guard hooks stays on. In strict mode, ``error`` is raised.
        """
        if self.strict:
            raise error
        plugin, hook, reason = impl.plugin, impl.spec.name, describe(error, impl.deadline)
        log.warning("plugin %s failed in %s: %s", plugin, hook, reason, exc_info=error)
        where = error_location(error)
        off = False
        if ctx is not None and impl.spec.kind != "around" and not self._is_guard(plugin):
            failures = ctx.failures[plugin] = ctx.failures.get(plugin, 0) + 1
            off = failures >= MAX_FAILURES
        if off:
            ctx.disabled.add(plugin)
            failed = f"failed {MAX_FAILURES} times in a row ({hook}: {reason})"
            ctx.notify(f"Plugin {plugin} {failed} and is off for this session.{AGAIN}")
        self.signals.send_failure(plugin, hook, reason + where, ctx=ctx, off=off)

    def _is_guard(self, plugin: str) -> bool:
        guards = (self.table[hook] for hook, spec in HOOKS.items() if spec.kind == "guard")
        return any(impl.plugin == plugin for found in guards for impl in found)


async def _awaited(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


def _stricter(decision: Decision[E], plugin: str, verdict: Verdict) -> Decision[E]:
    """Return the decision combined with another verdict."""
    before = decision.verdict
    if isinstance(before, Ask) and isinstance(verdict, Ask):
        return replace(decision, verdict=_both(before, verdict))
    if before is None or _STRICTNESS[type(verdict)] > _STRICTNESS[type(before)]:
        return replace(decision, verdict=verdict, plugin=plugin)
    return decision


def _both(one: Ask, other: Ask) -> Ask:
    new = other.preview if other.preview not in one.preview else ""
    return Ask(
        f"{one.reason.rstrip('.')}; {other.reason}",
        "\n\n".join(filter(None, (one.preview, new))),
        one.once or other.once,
        one.marks + other.marks,
        one.answered_by_rules and other.answered_by_rules,
        details=one.details + other.details,
    )
