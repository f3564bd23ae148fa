"""The provider: renders requests to bytes, sends them, reads the responses."""

from __future__ import annotations

from hookline_hookspecs import (
    CachePrice,
    DeltaSink,
    ModelRequest,
    ModelResponse,
    ProviderSettings,
    WireRequest,
)

from .body import join_body
from .client import Client
from .options import OPTION_NAMES, read_options
from .render import Renderer
from .response_reader import read_message


class AnthropicProvider:
    """Anthropic's Messages API, or a server that speaks it.

    Rendering needs no SDK and no network. The SDK is imported when the first request is sent.
    """

    option_names = OPTION_NAMES
    cache_price = CachePrice()

    def __init__(self, settings: ProviderSettings) -> None:
        """Check the settings.

        Raises:
            BadRequest: an option has a value that cannot be used.
        """
        self.name = settings.name
        options = read_options(settings)
        self._renderer = Renderer(options)
        self._client = Client(settings, options)

    def render(self, request: ModelRequest) -> WireRequest:
        """Return the request as fields and encoded parts; equal messages give equal bytes."""
        return self._renderer.render(request)

    async def send(self, wire: WireRequest, on_delta: DeltaSink | None) -> ModelResponse:
        """Send a rendered request, and pass pieces to ``on_delta`` as they come.

        Raises:
            ProviderError: of the kind that fits; the text names provider and model.
        """
        body = join_body(wire)
        model = wire.model or str(wire.fields.get("model"))
        sink = self._client.guard.sink(on_delta)
        if wire.fields.get("stream"):
            message = await self._client.stream(body, model, sink, wire.retry_seconds)
        else:
            message = await self._client.send(body, model, sink, wire.retry_seconds)
        return self._client.guard.check(read_message(message, model), model=model)

    async def aclose(self) -> None:
        """Close connections; the next request opens them again."""
        await self._client.aclose()
