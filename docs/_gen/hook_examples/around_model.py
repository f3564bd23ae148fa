from collections.abc import Awaitable, Callable
from time import perf_counter

from hookline_hookspecs import Context, ModelRequest, ModelResponse, Plugin, hookimpl

CallModel = Callable[[ModelRequest], Awaitable[ModelResponse]]
Middleware = Callable[[ModelRequest, CallModel], Awaitable[ModelResponse]]


class Stopwatch(Plugin):
    """Logs how long each answer takes."""

    @hookimpl
    def around_model(self, ctx: Context, request: ModelRequest) -> Middleware:
        async def timed(request: ModelRequest, call_next: CallModel) -> ModelResponse:
            start = perf_counter()
            response = await call_next(request)
            self.log.warning("%s took %.1f s", request.model, perf_counter() - start)
            return response

        return timed
