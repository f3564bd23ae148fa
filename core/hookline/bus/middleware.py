"""Middleware of the ``around_*`` hooks: each one encloses the next, the innermost encloses core."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Generic, TypeAlias, TypeVar, cast

from hookline_hookspecs.errors import ProviderError

from ..bus.implementation import Implementation, describe, is_fault
from ..bus.invocation import Invoker
from ..bus.shapes import mistake_in, wrong_type

R = TypeVar("R")
Call: TypeAlias = Callable[[Any], Awaitable[R]]


class AroundFault(Exception):
    """A middleware failed by itself, not the call that it encloses."""

    def __init__(self, impl: Implementation, cause: BaseException) -> None:
        super().__init__(f"plugin {impl.plugin} failed in {impl.spec.name}: {describe(cause)}")
        self.plugin = impl.plugin


async def middleware_of(invoker: Invoker, impl: Implementation, ctx: Any, event: Any) -> Any:
    """The middleware that an implementation returns, or None. Raises ``AroundFault``."""
    try:
        made = await invoker.attempt(impl, ctx, event)
        if made is None or callable(made):
            return made
        raise wrong_type(made, "middleware: async def mw(event, call_next)")
    except BaseException as error:
        if not is_fault(error):
            raise
        invoker.record_failure(impl, ctx, error)
        raise AroundFault(impl, error) from error


@dataclass
class Layer(Generic[R]):
    """One middleware around an inner call, itself a call of the event.

    Args:
        middleware: the plugin's ``async def mw(event, call_next)``.
        inner: what ``call_next`` calls.
        kind: the type of the result.
    """

    invoker: Invoker
    impl: Implementation
    ctx: Any
    middleware: Any
    inner: Call[R]
    kind: type[R]

    async def __call__(self, event: Any) -> R:
        """The middleware's result. Raises ``AroundFault`` for its own fault."""
        invoker, impl = self.invoker, self.impl
        inner_errors: list[BaseException] = []

        async def call_next(changed: Any) -> R:
            try:
                return await self.inner(changed)
            except BaseException as error:
                inner_errors.append(error)
                raise

        start = perf_counter()
        result, failure = None, None
        where = f"{impl.where} middleware"
        try:
            result = await invoker.run(impl.plugin, where, self.middleware, event, call_next)
            if (wrong := mistake_in(result, self.kind)) is not None:
                raise wrong
            return cast(R, result)
        except BaseException as error:
            failure = error
            # The same object coming out is the inner call's own failure passing through.
            meant = isinstance(error, (AroundFault, ProviderError))
            if meant or not is_fault(error) or any(error is one for one in inner_errors):
                raise
            invoker.record_failure(impl, self.ctx, error)
            raise AroundFault(impl, error) from error
        finally:
            if invoker.observers:
                invoker.notify_observers(self.ctx, impl.step(event, result, start, failure))
