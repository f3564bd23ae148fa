"""The process that runs the network channels: what it alone may do, and how others learn of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class GatewayHost(Protocol):
    """What core does for the one process that runs the channels; a service that core offers.

    ``host.services[GatewayHost]`` is always there.
    """

    async def recover(self) -> None:
        """Continue what a dead process left: unfinished turns, waiting messages and replies that
        were not delivered. Also forgets what was finished a week ago. Call it before the channels
        start, and now and then."""

    async def finish(self, seconds: float) -> None:
        """Wait for the turns and replies that are under way, at most ``seconds``."""

    async def answer(self, session_id: str, choice: str, user_id: str) -> bool:
        """Answer a session's open question. False if there is none, or not for this person."""


class GatewayWork(Protocol):
    """Work that a plugin does while a gateway runs in its process.

    Offered with ``host.services.add(GatewayWork, …)``. Whoever runs the channels calls it; an error
    is logged and stops nothing. A gateway runs without a channel where there is such work that
    ``needs_no_channel``.
    """

    needs_no_channel: bool

    async def gateway_up(self, channels: Sequence[str]) -> None:
        """Called once every channel is up, with their names, before the gateway says ``ready``."""

    async def gateway_stopping(self) -> None:
        """Called when the gateway stops, together with the channels' ``stop``. It is awaited as
        long as the gateway drains."""
