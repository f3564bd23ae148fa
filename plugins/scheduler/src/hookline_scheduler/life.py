"""Detects that a gateway is up, as a channel that the gateway starts and stops.

It carries no messages.
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
        """Return at once: nothing is ever received here."""
        await asyncio.Event().wait()

    async def stop(self) -> None:
        """The gateway stops: wait for runs to end."""
        await self._service.drain()

    async def send(self, reply: Reply) -> str | None:
        """Discard the reply; raising would only keep it for ever."""
        return None
