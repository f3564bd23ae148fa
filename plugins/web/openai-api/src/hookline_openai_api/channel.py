"""The network channel ``api``: keeps the listener open, and receives replies."""

from __future__ import annotations

from hookline_hookspecs import HooklineError, Host, Reply
from hookline_hookspecs.channels import Channel
from hookline_hookspecs.web import WebServer

from .active_runs import ActiveRuns
from .keys import CHANNEL


class CannotStart(HooklineError):
    """The channel cannot start."""


class NoReader(HooklineError):
    """No request waits for a message."""


class ApiChannel(Channel):
    """The channel of API clients."""

    name = CHANNEL
    edits = False
    network = True
    relays = True
    """:mod:`.remote_runs` relays turns of other processes."""
    listener = "web-server"
    """Among gateways that share a store, only one may run the channels of a listener."""
    awaits_replies = True

    def __init__(self, host: Host, runs: ActiveRuns) -> None:
        self._host = host
        self._runs = runs
        self._server: WebServer | None = None

    async def start(self) -> None:
        """Start listening. Raises :class:`CannotStart` or ``OSError``."""
        server = self._host.services.get(WebServer)
        if server is None:
            raise CannotStart("plugin web-server is off. Run `hookline plugins enable web-server`")
        self._runs.closing = False
        self._runs.remote.serve()
        url = await server.acquire()
        self._server = server
        self._host.log.info("the API is at %s/v1", url)

    async def wait(self) -> None:
        """Return when the listener has stopped. Raises its error."""
        if self._server is not None:
            await self._server.wait()

    async def stop(self) -> None:
        """Stop listening. Replies are still stored, because the gateway drains afterwards."""
        self._runs.closing = True
        server = self._server
        self._server = None
        if server is not None:
            await server.release()

    async def send(self, reply: Reply) -> None:
        """Deliver a reply to its request and store it for repeated requests.

        Raises:
            NoReader: it is a question and no request waits for it.
            StoreError: it cannot be stored.
        """
        if not await self._runs.deliver(reply) and reply.choices:
            raise NoReader("API clients do not read questions outside of a request")
