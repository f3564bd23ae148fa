"""A model in the process that answers at once, for what is Hookline's own work alone."""

from __future__ import annotations

import asyncio

from hookline_hookspecs import (
    CachePrice,
    DeltaSink,
    ModelRequest,
    ModelResponse,
    TextBlock,
    Usage,
    WireRequest,
)

ANSWER = ModelResponse(
    (TextBlock("The quick brown fox jumps over the dog."),), "end", Usage(100, 10)
)


class InstantModel:
    """A provider without a server. ``hold`` makes every answer wait for :meth:`release`."""

    name = "instant"
    cache_price = CachePrice()

    def __init__(self) -> None:
        self.waiting = 0
        self._open = asyncio.Event()
        self._open.set()

    def hold(self) -> None:
        """Hold every answer until :meth:`release`."""
        self._open.clear()

    def release(self) -> None:
        """Answer every waiting request."""
        self._open.set()

    def render(self, request: ModelRequest) -> WireRequest:
        """The least that a provider does: a fragment a message."""
        return WireRequest(
            provider=self.name,
            fields={"model": request.model},
            fragments=tuple([message.text.encode() for message in request.messages]),
            stable={"system": request.system.encode()},
            model=request.model,
            session_id=request.session_id,
        )

    async def send(self, _wire: WireRequest, _on_delta: DeltaSink | None) -> ModelResponse:
        """The same answer, always."""
        self.waiting += 1
        try:
            await self._open.wait()
        finally:
            self.waiting -= 1
        return ANSWER

    async def aclose(self) -> None:
        """Nothing to close."""
