"""The channel ``web``: what comes in is stored by core, what goes out is told to the pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from hookline_hookspecs import Feature, HooklineError, Host, Reply
from hookline_webkit import WebServer

from .owning import CHANNEL

if TYPE_CHECKING:
    from .hub import Hub


class WebChannel:
    """A network channel whose platform is the page (protocol ``Channel``).

    Args:
        host: the plugin's host.
        hub: the events; their streams end when the channel stops.
        send: delivers a reply.
        started: called once it listens.
    """

    name = CHANNEL
    edits = False
    network = True
    can: frozenset[Feature] = frozenset({"voice", "files"})

    def __init__(
        self,
        host: Host,
        hub: Hub,
        send: Callable[[Reply], Awaitable[str]],
        started: Callable[[], Awaitable[None]],
    ) -> None:
        self._host, self._hub, self._send, self._started = host, hub, send, started
        self._server: WebServer | None = None

    async def start(self) -> None:
        """Have the web server listen. Raises ``HooklineError`` or ``OSError`` with a sentence."""
        server = self._host.services.get(WebServer)
        if server is None:
            raise HooklineError(
                "the page needs the plugin web-server; run `hookline plugins enable web-server`"
            )
        await self._started()
        self._hub.closed = False
        await server.acquire()
        self._server = server

    async def wait(self) -> None:
        """Return when the server has stopped; raise the error if it failed."""
        if self._server is not None:
            await self._server.wait()

    async def stop(self) -> None:
        """End every stream and let go of the server."""
        self._hub.closed = True
        self._hub.end()
        server, self._server = self._server, None
        if server is not None:
            await server.release()

    async def send(self, reply: Reply) -> str:
        """Tell a reply to the pages; its own id is the id of the message."""
        return await self._send(reply)
