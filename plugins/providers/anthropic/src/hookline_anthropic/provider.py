"""The provider as core sees it."""

from __future__ import annotations

from hookline_hookspecs import (
    CachePrice,
    DeltaSink,
    ModelRequest,
    ModelResponse,
    ProviderSettings,
    WireRequest,
)

from .answer import read_message
from .body import join_body
from .client import Client
from .options import read_options
from .render import Renderer


class AnthropicProvider:
    """Anthropic's Messages API, or a server that speaks it.

    Rendering needs no SDK and no network; the SDK is imported and its one client made when the
    first request is sent.
    """

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
        """The request as fields and encoded parts; equal messages give equal bytes."""
        return self._renderer.render(request)

    async def send(self, wire: WireRequest, on_delta: DeltaSink | None) -> ModelResponse:
        """Send, and show pieces as they come.

        Raises:
            ProviderError: of the kind that fits; the text names provider and model.
        """
        body = join_body(wire)
        model = wire.model or str(wire.fields.get("model"))
        sink = self._client.boundary.sink(on_delta)
        if wire.fields.get("stream"):
            message = await self._client.stream(body, model, sink)
        else:
            message = await self._client.whole(body, model, sink)
        return self._client.boundary.admit(read_message(message, model), model=model)

    async def aclose(self) -> None:
        """Close connections; the next request opens them again."""
        await self._client.aclose()
