"""A channel for tests."""

from __future__ import annotations

import asyncio
from typing import Any

from hookline_hookspecs import Inbound, Reply
from hookline_hookspecs.channels import Channel


class FakeChannel(Channel):
    """Sends messages to the runtime and collects replies. The next ``fail`` deliveries fail."""

    name = "fake"
    edits = False
    network = True

    def __init__(self, runtime: Any) -> None:
        self._runtime = runtime
        self._arrived = asyncio.Event()
        self.sent: list[Reply] = []
        self.fail = 0
        self._number = 0

    async def start(self) -> None:
        """Do nothing."""

    async def wait(self) -> None:
        """Return at once; messages come from :meth:`say`."""

    async def stop(self) -> None:
        """Do nothing."""

    async def send(self, reply: Reply) -> str:
        """Collect a reply, or raise ``ConnectionError`` while ``fail`` is not 0."""
        if self.fail:
            self.fail -= 1
            raise ConnectionError("the fake platform is away")
        self.sent.append(reply)
        self._arrived.set()
        return f"delivered-{len(self.sent)}"

    async def say(
        self,
        text: str,
        *,
        chat: str = "chat",
        user: str = "user",
        message_id: str | None = None,
        reply_to: str | None = None,
        **more: Any,
    ) -> bool:
        """Send a message as a person; return False if it was already received.

        ``reply_to="delivered-N"`` answers the N-th reply, as pressing one of its buttons does.
        ``more`` are other fields of the ``Inbound``, such as ``private=True``.
        """
        self._number += 1
        id_ = message_id or f"m{self._number}"
        inbound = Inbound("fake", chat, user, id_, text, reply_to=reply_to, **more)
        is_new: bool = await self._runtime.dispatcher.receive(inbound)
        return is_new

    async def replies(self, count: int, seconds: float = 60.0) -> list[Reply]:
        """Wait until a total of ``count`` replies have arrived, and return them all."""
        async with asyncio.timeout(seconds):
            while len(self.sent) < count:
                self._arrived.clear()
                await self._arrived.wait()
        return self.sent
