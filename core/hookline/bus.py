"""The event bus: the one place where core calls plugins.

pluggy holds the contract and the registrations, blinker tells listeners afterwards, and this
module walks the implementations itself, so that each may be a coroutine, is isolated, timed and
held to its deadline, and its plugin is known.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from time import perf_counter
from types import CoroutineType
from typing import Any, TypeAlias, TypeVar

import pluggy
from hookline_hookspecs import HOOKS, Answer, Ask, Deny, HookSpecs, PluginFailure
from hookline_hookspecs.events import Verdict
from hookline_hookspecs.hooks import GUARDS, PROJECT

from .implementations import (
    Implementation,
    PluginRefused,
    adapt,
    check_hooks,
    describe,
    first_line,
    wrong_type,
)
from .signals import SignalHub
from .stepping import drive
from .watchdog import HookTimeout, Watchdog

log = logging.getLogger("hookline.bus")
STRIKES = 3
"""Failures in a row that switch a plugin off for the session (DESIGN §3)."""
E_ = TypeVar("E_")
FAULTS = (Exception, SystemExit, HookTimeout)
"""What counts as a plugin's failure. Cancellation and Ctrl-C always pass through."""


class AroundFault(Exception):
    """A middleware failed by itself, not the call that it encloses."""

    def __init__(self, plugin: str, hook: str, cause: BaseException) -> None:
        super().__init__(f"plugin {plugin} failed in {hook}: {describe(cause)}")
        self.plugin = plugin


class WrongPart(Exception):
    """An implementation returned ``value``, in which something is of the wrong type."""

    def __init__(self, value: Any, error: TypeError) -> None:
        super().__init__(str(error))
        self.value = value
        self.error = error


Observer = Callable[[Implementation, Any, Any, Any, float, "BaseException | None"], None]
"""Called as ``(implementation, ctx, event, result, seconds, error)`` after each step."""
StepCheck: TypeAlias = Callable[[Implementation, E_, E_], E_]
"""Called as ``(implementation, before, after)``; returns what goes on."""


class Bus:
    """Registers plugins and calls their hooks by kind.

    Args:
        strict: raise a plugin's errors instead of isolating them (``HOOKLINE_STRICT=1``).
        deadlines: seconds by hook, in place of the specs' own; for tests.
    """

    def __init__(
        self, *, strict: bool = False, deadlines: dict[str, float | None] | None = None
    ) -> None:
        self.strict = strict
        self.signals = SignalHub()
        self.watchdog = Watchdog()
        self.observers: list[Observer] = []
        self._deadlines = {name: spec.deadline for name, spec in HOOKS.items()}
        self._deadlines.update(deadlines or {})
        self._manager = pluggy.PluginManager(PROJECT)
        self._manager.add_hookspecs(HookSpecs)
        self._ranks: dict[str, int] = {}
        self._guards: set[str] = set()
        self._table: dict[str, tuple[Implementation, ...]] = dict.fromkeys(HOOKS, ())
        self._known: dict[tuple[str, str], Implementation] = {}

    # Registration

    def register(self, name: str, plugin: object, rank: int) -> None:
        """Add a plugin; a lower ``rank`` is further outside.

        Raises:
            PluginRefused: a misspelt hook, a wrong signature, a wrapper; nothing stays behind.
        """
        check_hooks(name, plugin)
        try:
            self._manager.register(plugin, name)
            self._manager.check_pending()
        except pluggy.PluginValidationError as error:
            if self._manager.has_plugin(name):
                self._manager.unregister(name=name)
            raise PluginRefused(first_line(error)) from error
        self._ranks[name] = rank
        hooks = {caller.name for caller in self._manager.get_hookcallers(plugin) or ()}
        if any(HOOKS[hook].kind in GUARDS for hook in hooks):
            self._guards.add(name)
        self._rebuild(hooks)

    def unregister(self, name: str) -> None:
        """Remove a plugin and its implementations at once."""
        if not self._manager.has_plugin(name):
            return
        self._manager.unregister(name=name)
        self._guards.discard(name)
        self._rebuild(HOOKS)

    def _rebuild(self, hooks: Any) -> None:
        for hook in hooks:
            self._table[hook] = tuple(self._ordered(hook))

    def _ordered(self, hook: str) -> Iterator[Implementation]:
        spec = HOOKS[hook]
        found = getattr(self._manager.hook, hook).get_hookimpls()
        ranked = sorted(found, key=lambda impl: self._ranks.get(impl.plugin_name, 1 << 30))
        outer = [i for i in ranked if i.tryfirst]
        inner = [i for i in ranked if i.trylast]
        middle = [i for i in ranked if not (i.tryfirst or i.trylast)]
        order = [*outer, *middle, *inner]
        for impl in reversed(order) if spec.reverse else order:
            key = (hook, impl.plugin_name)
            known = self._known.get(key)
            if known is None or known.function != impl.function:
                known = Implementation(spec, impl.plugin_name, impl.function)
                known.call = adapt(impl.function, impl.argnames, spec)
                self._known[key] = known
            yield known

    def implementations(self, hook: str) -> tuple[Implementation, ...]:
        """Who implements ``hook``, in the order of the calls."""
        return self._table[hook]

    def deadline(self, hook: str) -> float | None:
        """Seconds an implementation of ``hook`` may take."""
        return self._deadlines[hook]

    # Calls, one method for each kind

    async def observe(self, hook: str, ctx: Any, event: Any) -> None:
        """Tell every implementation."""
        for impl in self._live(hook, ctx):
            await self._step(impl, ctx, event)
        self.signals.send(hook, event, ctx)

    async def collect(
        self, hook: str, ctx: Any, event: Any, kind: type[E_]
    ) -> list[tuple[str, E_]]:
        """Every contribution of type ``kind`` with its plugin's name; lists are flattened."""
        found: list[tuple[str, E_]] = []
        for impl in self._live(hook, ctx):
            result = await self._step(impl, ctx, event, (kind,), many=True)
            found += [(impl.plugin, item) for item in listed(result) if isinstance(item, kind)]
        self.signals.send(hook, event, ctx)
        return found

    async def pipeline(
        self,
        hook: str,
        ctx: Any,
        event: E_,
        check: StepCheck[E_] | None = None,
        finish: Callable[[E_], E_] | None = None,
    ) -> E_:
        """Pass ``event`` through every step; ``check`` sees each change and may undo it.

        ``finish`` makes the outcome final before the signal tells it.
        """
        for impl in self._live(hook, ctx):
            result = await self._step(impl, ctx, event, (type(event),))
            if result is not None:
                event = result if check is None else check(impl, event, result)
        if finish is not None:
            event = finish(event)
        self.signals.send(hook, event, ctx)
        return event

    async def first(self, hook: str, ctx: Any, event: Any, kind: type[E_]) -> E_ | None:
        """The first answer that is not None."""
        answer = None
        for impl in self._live(hook, ctx):
            answer = await self._step(impl, ctx, event, (kind,))
            if answer is not None:
                break
        self.signals.send(hook, event, ctx)
        return answer

    async def veto(self, hook: str, ctx: Any, event: Any) -> tuple[str, Verdict] | None:
        """The strictest verdict and its plugin: Deny > Ask > Answer > None."""
        verdict: tuple[str, Verdict] | None = None
        for impl in self._live(hook, ctx):
            found = await self._step(impl, ctx, event, (Deny, Ask, Answer), closed=True)
            if found is not None and (
                verdict is None or _STRICTNESS[type(found)] > _STRICTNESS[type(verdict[1])]
            ):
                verdict = (impl.plugin, found)
        self.signals.send(hook, event, ctx)
        return verdict

    async def gate(self, hook: str, ctx: Any, event: E_) -> E_ | Deny:
        """Pass ``event`` through every step; the first ``Deny`` ends it."""
        for impl in self._live(hook, ctx):
            result = await self._step(impl, ctx, event, (type(event), Deny), closed=True)
            if isinstance(result, Deny):
                return result
            if result is not None:
                event = result
        self.signals.send(hook, event, ctx)
        return event

    async def around(
        self, hook: str, ctx: Any, event: Any, core: Callable[[Any], Awaitable[E_]], kind: type[E_]
    ) -> E_:
        """Run ``core(event)`` inside every middleware, the first plugin outermost.

        Raises:
            AroundFault: a middleware failed by itself or returned something else.
        """
        call = core
        for impl in reversed(self._table[hook]):
            middleware = await self._middleware(impl, ctx, event)
            if middleware is not None:
                call = self._nest(impl, ctx, middleware, call, kind)
        result = await call(event)
        self.signals.send(hook, event, ctx)
        return result

    async def _middleware(self, impl: Implementation, ctx: Any, event: Any) -> Any:
        try:
            made = await self.attempt(impl, ctx, event)
        except FAULTS as error:
            self._failed(impl, ctx, error)
            raise AroundFault(impl.plugin, impl.spec.name, error) from error
        if made is not None and not callable(made):
            wrong = wrong_type(made, "middleware: async def mw(event, call_next)")
            self._failed(impl, ctx, wrong)
            raise AroundFault(impl.plugin, impl.spec.name, wrong)
        return made

    def _nest(
        self, impl: Implementation, ctx: Any, middleware: Any, inner: Any, kind: type[E_]
    ) -> Callable[[Any], Awaitable[E_]]:
        async def call(event: Any) -> E_:
            raised: list[BaseException] = []

            async def call_next(changed: Any) -> E_:
                try:
                    return await inner(changed)  # type: ignore[no-any-return]
                except BaseException as error:
                    raised.append(error)
                    raise

            start = perf_counter()
            failure: BaseException | None = None
            result: Any = None
            try:
                result = await middleware(event, call_next)
                if not isinstance(result, kind):
                    raise wrong_type(result, kind)
                return result
            except FAULTS as error:
                failure = error
                # The same object coming out is the inner call's own failure passing through.
                if any(error is known for known in raised) or isinstance(error, AroundFault):
                    raise
                self._failed(impl, ctx, error)
                raise AroundFault(impl.plugin, impl.spec.name, error) from error
            finally:
                seconds = perf_counter() - start
                impl.calls += 1
                impl.seconds += seconds
                for observer in self.observers:
                    observer(impl, ctx, event, result, seconds, failure)

        return call

    def gather(self, hook: str, register: Callable[[str], Callable[..., None]]) -> None:
        """Call a synchronous ``register_*`` hook; ``register(plugin)`` gives its callable."""
        for impl in self._table[hook]:
            self.gather_one(impl, register(impl.plugin))

    def gather_one(self, impl: Implementation, register: Callable[..., None]) -> None:
        """One plugin's part of :meth:`gather`."""
        start = perf_counter()
        before = self.watchdog.begin(impl, start + (self._deadlines[impl.spec.name] or 5))
        try:
            impl.function(register)
        except PluginRefused:
            raise
        except FAULTS as error:
            self._failed(impl, None, error)
        finally:
            self.watchdog.end(before)

    # One step

    def _live(self, hook: str, ctx: Any) -> tuple[Implementation, ...] | list[Implementation]:
        found = self._table[hook]
        if not found or ctx is None or not ctx.off:
            return found
        return [impl for impl in found if impl.plugin not in ctx.off]

    async def _step(
        self,
        impl: Implementation,
        ctx: Any,
        event: Any,
        kinds: tuple[type, ...] | None = None,
        closed: bool = False,
        many: bool = False,
    ) -> Any:
        """One implementation's result, or what its failure means."""
        start = perf_counter()
        failure: BaseException | None = None
        result: Any = None
        try:
            result = await self.attempt(impl, ctx, event)
            for item in () if kinds is None else listed(result) if many else (result,):
                if item is not None and not isinstance(item, kinds or ()):
                    raise WrongPart(result, wrong_type(item, *kinds or ()))
            if ctx is not None and ctx.strikes:
                ctx.strikes.pop(impl.plugin, None)
        except FAULTS as error:
            kept = error.value if isinstance(error, WrongPart) and many else None
            failure = error.error if isinstance(error, WrongPart) else error
            self._failed(impl, ctx, failure)
            reason = f"the guard {impl.plugin} failed, so the answer is no: {describe(failure)}"
            result = Deny(reason) if closed else kept
        seconds = perf_counter() - start
        impl.calls += 1
        impl.seconds += seconds
        for observer in self.observers:
            observer(impl, ctx, event, result, seconds, failure)
        return result

    async def attempt(self, impl: Implementation, ctx: Any, event: Any) -> Any:
        """One implementation's result, under watch and deadline; a failure is raised."""
        deadline = self._deadlines[impl.spec.name]
        watchdog = self.watchdog
        # A hook without a deadline of its own may still not block the event loop for ever.
        before = watchdog.begin(impl, perf_counter() + (deadline or 30.0))
        try:
            result = impl.call(None if ctx is None else ctx.of(impl.plugin), event)
        finally:
            watchdog.end(before)
        if result is None or not (type(result) is CoroutineType or hasattr(result, "__await__")):
            return result
        return await drive(result, deadline, watchdog, impl)

    def _failed(self, impl: Implementation, ctx: Any, error: BaseException) -> None:
        hook = impl.spec.name
        if self.strict:
            raise error
        reason = describe(error, self._deadlines[hook])
        log.warning("plugin %s failed in %s: %s", impl.plugin, hook, reason, exc_info=error)
        off = False
        if ctx is not None and impl.plugin not in self._guards and impl.spec.kind != "around":
            strikes = ctx.strikes[impl.plugin] = ctx.strikes.get(impl.plugin, 0) + 1
            off = strikes >= STRIKES
        if off:
            ctx.off.add(impl.plugin)
            ctx.notify(
                f"Plugin {impl.plugin} failed {STRIKES} times in a row ({hook}: {reason}) and is "
                f"off for this session."
            )
        failure = PluginFailure(impl.plugin, hook, reason, off)
        self.signals.send("plugin_failed", failure, ctx)


def listed(result: Any) -> Sequence[Any]:
    """A contribution, or several, as a sequence."""
    return result if isinstance(result, (list, tuple)) else (result,)


_STRICTNESS: dict[type, int] = {Deny: 3, Ask: 2, Answer: 1}
