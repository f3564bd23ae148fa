"""How the scheduler knows that a gateway is up: as a channel that the gateway starts and stops.

It carries no messages; people reach nothing through it.
"""

from __future__ import annotations

import asyncio

from hookline_hookspecs import Reply

from .service import CHANNEL, Service


class GatewayLife:
    """Implements ``Channel`` for its ``start`` and ``stop``."""

    name = CHANNEL
    edits = False
    network = True

    def __init__(self, service: Service) -> None:
        self._service = service

    async def start(self) -> None:
        """The gateway is up: look for due jobs."""
        self._service.gateway_is_up()

    async def wait(self) -> None:
        """Nothing is received here, ever."""
        await asyncio.Event().wait()

    async def stop(self) -> None:
        """The gateway ends: let runs end."""
        await self._service.drain()

    async def send(self, reply: Reply) -> str | None:
        """Nobody is here; raising would only keep the reply for ever."""
        return None
