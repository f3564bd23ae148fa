"""Hookline plugin ``fallback``: another model answers when the first one cannot.

Reached by the entry point ``hookline_fallback:Fallback``. Which models, in which order, is core's
``fallback_models``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace

from hookline_hookspecs import (
    Context,
    Delta,
    Host,
    ModelRequest,
    ModelResponse,
    NetworkError,
    Overloaded,
    Plugin,
    ProviderError,
    RateLimited,
    hookimpl,
)
from pydantic import BaseModel, Field

__all__ = ["Fallback", "FallbackConfig"]
CallNext = Callable[[ModelRequest], Awaitable[ModelResponse]]
PASSING = (Overloaded, RateLimited, NetworkError)
"""Errors that another model may not have; any other is the request's own."""


class FallbackConfig(BaseModel):
    """How long a model that could not answer is left alone."""

    rest: float = Field(
        default=60.0, ge=0, description="Seconds; what the provider asks for counts if longer."
    )


class Fallback(Plugin[FallbackConfig]):
    """Tries the next model, unless words of the answer have been shown."""

    def __init__(self, config: FallbackConfig, host: Host) -> None:
        super().__init__(config, host)
        self._resting: dict[str, float] = {}
        self._shown: set[str] = set()

    @hookimpl
    def setup(self, host: Host) -> None:
        """Hear what is shown."""
        if host.config.fallback_models:
            host.signals.connect("delta", self._delta)

    def _delta(self, delta: Delta, ctx: Context | None = None) -> None:
        if ctx is not None and delta.text and delta.kind != "waiting":
            self._shown.add(ctx.turn.id)

    @hookimpl
    def around_model(
        self, ctx: Context, request: ModelRequest
    ) -> Callable[[ModelRequest, CallNext], Awaitable[ModelResponse]] | None:
        """Enclose the call."""
        if not self.host.config.fallback_models:
            return None

        async def middleware(request: ModelRequest, call_next: CallNext) -> ModelResponse:
            turn_id = ctx.turn.id
            self._shown.discard(turn_id)
            try:
                return await self._first_that_answers(ctx, request, call_next)
            finally:
                self._shown.discard(turn_id)

        return middleware

    async def _first_that_answers(
        self, ctx: Context, request: ModelRequest, call_next: CallNext
    ) -> ModelResponse:
        first: ProviderError | None = None
        for model in self._models(request.model):
            asked = request if model == request.model else replace(request, model=model)
            try:
                response = await call_next(asked)
            except PASSING as error:
                self._rest(model, error)
                if ctx.turn.id in self._shown:
                    raise  # what was shown is not taken back
                first = first or error
                continue
            except ProviderError as error:
                if first is None:
                    raise
                self.log.warning("the fallback %s could not answer: %s", model, error)
                continue
            if model != request.model:
                ctx.notify(f"{model} answers, because {request.model} cannot at the moment.")
            return response
        assert first is not None
        raise first

    def _models(self, wanted: str) -> Iterator[str]:
        """The models to ask: those that rest come last, since all may be resting."""
        models = dict.fromkeys([wanted, *self.host.config.fallback_models])
        now = self.host.now()
        awake = [model for model in models if self._resting.get(model, 0.0) <= now]
        yield from dict.fromkeys([*awake, *models])

    def _rest(self, model: str, error: ProviderError) -> None:
        seconds = max(self.config.rest, error.retry_after or 0.0)
        self._resting[model] = self.host.now() + seconds
