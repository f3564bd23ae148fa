import asyncio
from collections.abc import Callable

from hookline_hookspecs import Channel, Host, Inbound, Plugin, Reply, hookimpl


class Mailbox(Channel):
    """A mailbox in memory; ``post`` is what a platform would call."""

    name = "mailbox"
    edits = False
    network = True

    def __init__(self, host: Host) -> None:
        self.host = host
        self.sent: list[str] = []
        self.stopped = asyncio.Event()

    async def start(self) -> None:
        self.stopped.clear()

    async def wait(self) -> None:
        await self.stopped.wait()

    async def stop(self) -> None:
        self.stopped.set()

    async def send(self, reply: Reply) -> str | None:
        self.sent.append(reply.text)
        return str(len(self.sent))

    async def post(self, number: int, text: str) -> None:
        """Hand over a message; when this returns, it is stored."""
        await self.host.receive(
            Inbound(self.name, "box", "ann", str(number), text, received=self.host.now())
        )


class MailboxPlugin(Plugin):
    """Answers letters."""

    @hookimpl
    def register_channels(self, register: Callable[[Channel], None]) -> None:
        register(Mailbox(self.host))
