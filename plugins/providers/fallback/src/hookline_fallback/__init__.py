"""Hookline plugin ``fallback``: another model answers when the first one fails.

The models and their order are core's ``fallback_models``.
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
RETRYABLE_ERRORS = (Overloaded, RateLimited, NetworkError)
"""Errors that another model may not have; any other is about the request."""


class FallbackConfig(BaseModel):
    """How long a failed model is skipped."""

    rest: float = Field(
        default=60.0,
        ge=0,
        title="Pause after a failure (seconds)",
        description="Seconds that a failing model is left out; longer if the provider asks for it.",
    )
    retry_seconds: float = Field(
        default=5.0,
        ge=0,
        title="Retry for (seconds)",
        description=(
            "Seconds for which a failing model is retried before the next one is used; the last "
            "one is retried for its provider's `retry_seconds`."
        ),
    )


class Fallback(Plugin[FallbackConfig]):
    """Tries the next model, unless a part of the answer has been shown."""

    def __init__(self, config: FallbackConfig, host: Host) -> None:
        super().__init__(config, host)
        self._skipped_until: dict[str, float] = {}
        self._shown_turns: set[str] = set()

    @hookimpl
    def setup(self, host: Host) -> None:
        """Listen to what is shown."""
        if host.config.fallback_models:
            host.signals.connect("delta", self._on_delta)

    def _on_delta(self, delta: Delta, ctx: Context | None = None) -> None:
        if ctx is not None and delta.text and delta.kind != "waiting":
            self._shown_turns.add(ctx.turn.id)

    @hookimpl
    def around_model(
        self, ctx: Context, request: ModelRequest
    ) -> Callable[[ModelRequest, CallNext], Awaitable[ModelResponse]] | None:
        """Try the next model if the call fails."""
        if not self.host.config.fallback_models:
            return None

        async def middleware(request: ModelRequest, call_next: CallNext) -> ModelResponse:
            turn_id = ctx.turn.id
            self._shown_turns.discard(turn_id)
            try:
                return await self._try_models(ctx, request, call_next)
            finally:
                self._shown_turns.discard(turn_id)

        return middleware

    async def _try_models(
        self, ctx: Context, request: ModelRequest, call_next: CallNext
    ) -> ModelResponse:
        first_error: ProviderError | None = None
        models = list(self._models(request.model))
        for model in models:
            patience = request.retry_seconds if model == models[-1] else self.config.retry_seconds
            attempt = replace(request, model=model, retry_seconds=patience)
            try:
                response = await call_next(attempt)
            except RETRYABLE_ERRORS as error:
                self._skip(model, error)
                if ctx.turn.id in self._shown_turns:
                    raise  # what was shown cannot be taken back
                first_error = first_error or error
                continue
            except ProviderError as error:
                if first_error is None:
                    raise
                self.log.warning("fallback %s failed: %s", model, error)
                continue
            if model != request.model:
                ctx.notify(f"{model} answers, because {request.model} is unavailable.")
            return response
        assert first_error is not None
        raise first_error

    def _models(self, first: str) -> Iterator[str]:
        """Yield the models to try. Skipped ones come last, since all may be skipped."""
        models = dict.fromkeys([first, *self.host.config.fallback_models])
        now = self.host.now()
        available = [model for model in models if self._skipped_until.get(model, 0.0) <= now]
        yield from dict.fromkeys([*available, *models])

    def _skip(self, model: str, error: ProviderError) -> None:
        seconds = max(self.config.rest, error.retry_after or 0.0)
        self._skipped_until[model] = self.host.now() + seconds
