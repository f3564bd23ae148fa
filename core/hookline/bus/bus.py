"""The event bus: the one place where core calls plugins.

pluggy holds the contract and checks registrations, blinker tells listeners afterwards, and this
package walks the implementations itself, so that each may be a coroutine, is isolated, timed and
held to its deadline, and its plugin is known.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias, TypeVar

from hookline_hookspecs import HOOKS, Answer, Ask, Denial, Deny
from hookline_hookspecs.events import Verdict

from ..bus.implementation import Implementation
from ..bus.invocation import Invoker
from ..bus.middleware import Call, Layer, middleware_of
from ..bus.shapes import listed, mistake_in, wrong_type

E = TypeVar("E")
Check: TypeAlias = "Callable[[Implementation, E, E], E] | None"
"""Called as ``(implementation, before, after)``; returns what goes on."""
Finish: TypeAlias = "Callable[[E], E] | None"
_STRICTNESS: dict[type, int] = {Deny: 3, Ask: 2, Answer: 1}
_HOOK_OF = {spec.registers: name for name, spec in HOOKS.items() if spec.registers is not None}


class Bus(Invoker):
    """Registers plugins and calls their hooks, with one method for each kind of hook."""

    def implementations(self, hook: str) -> tuple[Implementation, ...]:
        """Who implements ``hook``, in the order of the calls."""
        return self.table[hook]

    def withholds_deltas(self) -> bool:
        """True if a plugin may change a reply, so that no part of it is shown before."""
        plugins = [getattr(impl.function, "__self__", None) for impl in self.table["pre_reply"]]
        return not all(getattr(plugin, "adds_to_reply_only", False) for plugin in plugins)

    async def observe(self, hook: str, ctx: Any, event: Any) -> None:
        """Tell every implementation."""
        for impl in self._enabled(hook, ctx):
            await self.step(impl, ctx, event)
        self.signals.send(hook, event, ctx)

    async def collect(self, hook: str, ctx: Any, event: Any, kind: type[E]) -> list[tuple[str, E]]:
        """Every contribution of type ``kind`` with its plugin's name; lists are flattened."""
        found: list[tuple[str, E]] = []
        for impl in self._enabled(hook, ctx):
            result = await self.step(impl, ctx, event, kind)
            items = () if result is None else listed(result)
            found += [(impl.plugin, item) for item in items if mistake_in(item, kind) is None]
        self.signals.send(hook, event, ctx)
        return found

    async def pipeline(
        self, hook: str, ctx: Any, event: E, check: Check[E] = None, finish: Finish[E] = None
    ) -> E:
        """Pass ``event`` through every step; ``check`` sees each change and may undo it.

        ``finish`` makes the outcome final before the signal tells it.
        """
        for impl in self._enabled(hook, ctx):
            result = await self.step(impl, ctx, event, type(event))
            if result is not None:
                event = result if check is None else check(impl, event, result)
        if finish is not None:
            event = finish(event)
        self.signals.send(hook, event, ctx)
        return event

    async def first(self, hook: str, ctx: Any, event: Any, kind: type[E]) -> E | None:
        """The first answer that is not None."""
        answer = None
        for impl in self._enabled(hook, ctx):
            answer = await self.step(impl, ctx, event, kind)
            if answer is not None:
                break
        self.signals.send(hook, event, ctx)
        return answer

    async def veto(self, hook: str, ctx: Any, event: Any) -> tuple[str, Verdict] | None:
        """The strictest verdict and its plugin: Deny > Ask > Answer > None.

        The signal ``denied`` follows the hook's own where it is a ``Deny``.
        """
        verdict: tuple[str, Verdict] | None = None
        for impl in self._enabled(hook, ctx):
            found = await self.step(impl, ctx, event, Deny, Ask, Answer)
            if found is not None and (
                verdict is None or _STRICTNESS[type(found)] > _STRICTNESS[type(verdict[1])]
            ):
                verdict = (impl.plugin, found)
        self.signals.send(hook, event, ctx)
        if verdict is not None and isinstance(verdict[1], Deny):
            denial = Denial(hook, verdict[0], event, verdict[1].reason)
            self.signals.send("denied", denial, ctx)
        return verdict

    async def gate(self, hook: str, ctx: Any, event: E) -> E | Deny:
        """Pass ``event`` through every step; the first ``Deny`` ends it.

        The hook's own signal tells what has passed; the signal ``denied`` tells the rest.
        """
        for impl in self._enabled(hook, ctx):
            result = await self.step(impl, ctx, event, type(event), Deny)
            if isinstance(result, Deny):
                self.signals.send("denied", Denial(hook, impl.plugin, event, result.reason), ctx)
                return result
            if result is not None:
                event = result
        self.signals.send(hook, event, ctx)
        return event

    async def around(self, hook: str, ctx: Any, event: Any, core: Call[E], kind: type[E]) -> E:
        """Run ``core(event)`` inside every middleware, the first plugin outermost.

        Raises:
            AroundFault: a middleware failed by itself or returned something else.
        """
        call = core
        for impl in reversed(self.table[hook]):
            middleware = await middleware_of(self, impl, ctx, event)
            if middleware is not None:
                call = Layer(self, impl, ctx, middleware, call, kind)
        result = await call(event)
        self.signals.send(hook, event, ctx)
        return result

    def gather(self, hook: str, register: Callable[[str], Callable[..., None]]) -> None:
        """Call a synchronous ``register_*`` hook; ``register(plugin)`` gives its callable."""
        for impl in self.table[hook]:
            self.gather_one(impl, register(impl.plugin))

    def registered(self, kind: type[E]) -> list[tuple[str, E]]:
        """Everything of a type that a hook's spec ``registers``, with each plugin's name.

        Raises:
            KeyError: no hook registers this type.
        """
        found: list[tuple[str, E]] = []

        def add(plugin: str, part: Any) -> None:
            if not isinstance(part, kind):
                raise wrong_type(part, kind)
            found.append((plugin, part))

        self.gather(_HOOK_OF[kind], lambda plugin: partial(add, plugin))
        return found

    def _enabled(self, hook: str, ctx: Any) -> tuple[Implementation, ...] | list[Implementation]:
        found = self.table[hook]
        if not found or ctx is None or not ctx.disabled:
            return found
        return [impl for impl in found if impl.plugin not in ctx.disabled]
