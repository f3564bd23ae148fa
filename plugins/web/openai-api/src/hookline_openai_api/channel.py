"""The network channel ``api``: it has the listener while it runs, and takes the replies."""

from __future__ import annotations

from hookline_hookspecs import HooklineError, Host, Reply
from hookline_hookspecs.channels import Channel
from hookline_hookspecs.web import WebServer

from .keys import CHANNEL
from .runs import Runs


class CannotStart(HooklineError):
    """The channel cannot start; the text says why and what to do."""


class Nobody(HooklineError):
    """Nobody reads what was to be sent: no request waits for it."""


class ApiChannel(Channel):
    """Clients of the API."""

    name = CHANNEL
    edits = False
    network = True
    relays = True
    """Turns in other processes are told by :mod:`.others`."""
    listener = "web-server"
    """Channels that have it belong to one gateway, where several share a store."""

    def __init__(self, host: Host, runs: Runs) -> None:
        self._host = host
        self._runs = runs
        self._server: WebServer | None = None

    async def start(self) -> None:
        """Listen. Raises :class:`CannotStart` or ``OSError`` with a sentence."""
        server = self._host.services.get(WebServer)
        if server is None:
            raise CannotStart("web-server is off; `hookline plugins enable web-server`")
        self._runs.closing = False
        self._runs.others.serve()
        url = await server.acquire()
        self._server = server
        self._host.log.info("the API is at %s/v1", url)

    async def wait(self) -> None:
        """Return when the listener has stopped. Raises its error."""
        if self._server is not None:
            await self._server.wait()

    async def stop(self) -> None:
        """Listen no more. Replies are still stored, because the gateway drains after this."""
        self._runs.closing = True
        server, self._server = self._server, None
        if server is not None:
            await server.release()

    async def send(self, reply: Reply) -> None:
        """Hand a reply to whoever waits for it, and store it for who asks again.

        Raises :class:`Nobody` for a question that nobody would read, and ``StoreError``.
        """
        if not await self._runs.take(reply) and reply.choices:
            raise Nobody("nobody reads questions that are sent to a client of the API")
