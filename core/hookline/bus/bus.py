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
from hookline_hookspecs import HOOKS, Answer, Ask, Deny, HookSpecs, PluginFailure, Step
from hookline_hookspecs.errors import ProviderError
from hookline_hookspecs.events import Verdict
from hookline_hookspecs.hooks import GUARDS, PROJECT

from ..bus.deadline import STEP_LIMIT, go_on, in_time
from ..bus.implementation import (
    Implementation,
    PluginRefused,
    adapt,
    check_hooks,
    describe,
    first_line,
    is_fault,
    misshapen,
    wrong_type,
)
from ..bus.signals import SignalHub
from ..bus.watchdog import Watchdog

log = logging.getLogger("hookline.bus")
STRIKES = 3
"""Failures in a row that switch a plugin off for the session (DESIGN §3)."""
E_ = TypeVar("E_")


class AroundFault(Exception):
    """A middleware failed by itself, not the call that it encloses."""

    def __init__(self, plugin: str, hook: str, cause: BaseException) -> None:
        super().__init__(f"plugin {plugin} failed in {hook}: {describe(cause)}")
        self.plugin = plugin


class WrongPart(Exception):
    """An implementation returned something in which a part is wrong: ``(value, error)``."""


Observer: TypeAlias = Callable[[Any, Step], None]
"""Called as ``(ctx, step)`` after each step."""
StepCheck: TypeAlias = Callable[[Implementation, E_, E_], E_]
"""Called as ``(implementation, before, after)``; returns what goes on."""


class _Manager(pluggy.PluginManager):
    """Looks closer at what is marked alone; pluggy's look at all attributes costs 1 ms a plugin."""

    def parse_hookimpl_opts(self, plugin: Any, name: str) -> Any:
        """The options of an implementation; None for any other attribute."""
        marked = hasattr(getattr(type(plugin), name, None), f"{PROJECT}_impl")
        return super().parse_hookimpl_opts(plugin, name) if marked else None


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
        self._manager = _Manager(PROJECT)
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
            items = [i for i in listed(result) if isinstance(i, kind) and not misshapen(i)]
            found += [(impl.plugin, item) for item in items]
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
        except BaseException as error:
            if not is_fault(error):
                raise
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
                if (wrong := misshapen(result)) is not None:
                    raise wrong
                return result
            except BaseException as error:
                failure = error
                # The same object coming out is the inner call's own failure passing through.
                meant = isinstance(error, (AroundFault, ProviderError))
                known = meant or any(error is one for one in raised)
                if known or not is_fault(error):
                    raise
                self._failed(impl, ctx, error)
                raise AroundFault(impl.plugin, impl.spec.name, error) from error
            finally:
                if self.observers:
                    self._ran(impl, ctx, event, result, start, failure)

        return call

    def gather(self, hook: str, register: Callable[[str], Callable[..., None]]) -> None:
        """Call a synchronous ``register_*`` hook; ``register(plugin)`` gives its callable."""
        for impl in self._table[hook]:
            self.gather_one(impl, register(impl.plugin))

    def registered(self, kind: type[E_]) -> list[tuple[str, E_]]:
        """Every check, job, route or reviewer that is registered, with its plugin's name."""
        found: list[tuple[str, E_]] = []

        def register(plugin: str) -> Callable[[Any], None]:
            def add(part: Any) -> None:
                if not isinstance(part, kind):
                    raise wrong_type(part, kind)
                found.append((plugin, part))

            return add

        self.gather(f"register_{kind.__name__.lower()}s", register)
        return found

    def gather_one(self, impl: Implementation, register: Callable[..., None]) -> None:
        """One plugin's part of :meth:`gather`."""
        start = perf_counter()
        before = self.watchdog.begin(impl, start + (self._deadlines[impl.spec.name] or 5))
        try:
            impl.function(register)
        except PluginRefused:
            raise
        except BaseException as error:
            if not is_fault(error):
                raise
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
            result = await self.attempt(impl, ctx, event, start)
            if result is not None and kinds is not None:
                for item in listed(result) if many else (result,):
                    if item is not None and not isinstance(item, kinds):
                        raise WrongPart(result, wrong_type(item, *kinds))
                    if (wrong := misshapen(item)) is not None:
                        raise WrongPart(result, wrong)
            if ctx is not None and ctx.strikes:
                ctx.strikes.pop(impl.plugin, None)
        except BaseException as error:
            if not is_fault(error):
                raise
            value, failure = error.args if isinstance(error, WrongPart) else (None, error)
            self._failed(impl, ctx, failure)
            reason = f"the guard {impl.plugin} failed, so the answer is no: {describe(failure)}"
            result = Deny(reason) if closed else value if many else None
        if self.observers:
            self._ran(impl, ctx, event, result, start, failure)
        return result

    def _ran(
        self,
        impl: Implementation,
        ctx: Any,
        event: Any,
        result: Any,
        start: float,
        failure: BaseException | None,
    ) -> None:
        spec, seconds = impl.spec, perf_counter() - start
        step = Step(spec.name, impl.plugin, spec.kind, event, result, start, seconds, failure)
        self.told(ctx, step)

    def told(self, ctx: Any, step: Step) -> None:
        """Show a step to who watches; a watcher that fails does not harm it."""
        for observer in self.observers:
            try:
                observer(ctx, step)
            except Exception as error:
                log.warning("an observer of %s failed", step.hook, exc_info=error)

    async def attempt(
        self, impl: Implementation, ctx: Any, event: Any, start: float | None = None
    ) -> Any:
        """One implementation's result, under watch and deadline; a failure is raised."""
        deadline = self._deadlines[impl.spec.name]
        watchdog = self.watchdog
        # A hook without a deadline of its own may still not block the event loop for ever.
        limit = deadline or STEP_LIMIT
        before = watchdog.begin(impl, (start or perf_counter()) + limit)
        try:
            result = impl.call(None if ctx is None else ctx.of(impl.plugin), event)
            if type(result) is CoroutineType:
                try:
                    waiting_for = result.send(None)
                except StopIteration as stop:
                    return stop.value
                result = go_on(result, waiting_for, watchdog, impl, limit)
            elif result is None or not hasattr(result, "__await__"):
                return result
        finally:
            watchdog.end(before)
        return await in_time(result, deadline)

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
