"""Services for the process that runs the network channels, and hooks into its start and stop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from .events import Reply


class GatewayHost(Protocol):
    """What core does for the one process that runs the channels.

    ``host.services[GatewayHost]`` is always available.
    """

    async def recover(self) -> None:
        """Continue the work of a process that died: unfinished turns, queued messages and
        undelivered replies. Also deletes records of work finished a week ago. Call it before the
        channels start, and periodically."""

    async def finish(self, seconds: float) -> None:
        """Wait at most ``seconds`` for running turns and replies to finish."""

    async def answer(self, session_id: str, choice: str, user_id: str) -> bool:
        """Answer a session's open question. Return False if there is none for this person."""

    async def post(self, reply: Reply) -> None:
        """Send a text that answers nothing into a chat of a network channel.

        When this returns, it is stored; it is delivered as answers are, in the order of its chat,
        until it has arrived, by another process if this one ends. Raises ``StoreError``.
        """

    async def withdraw(self, channel: str, chat_id: str, message_id: str) -> bool:
        """Drop a message of a channel that still waits for its turn, because its author has deleted
        it. Return False if there is none; it is too late once the turn has begun."""


class GatewayWork(Protocol):
    """Work that a plugin does while a gateway runs in its process.

    Offered with ``host.services.add(GatewayWork, …)`` and called by the gateway; errors are logged
    and stop nothing. If any such work ``needs_no_channel``, the gateway also runs without
    channels.
    """

    needs_no_channel: bool

    async def gateway_up(self, channels: Sequence[str]) -> None:
        """Called with the channels' names once all are up, before the gateway reports ``ready``."""

    async def gateway_stopping(self) -> None:
        """Called when the gateway stops, together with the channels' ``stop``. It is awaited while
        the gateway drains."""
