"""The channel ``web``: what comes in is stored by core, what goes out is told to the pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hookline_hookspecs import Feature, HooklineError, Host, Reply
from hookline_hookspecs.channels import Channel
from hookline_hookspecs.web import WebServer

from .owning import CHANNEL

if TYPE_CHECKING:
    from .page import Pages


class WebChannel(Channel):
    """A network channel whose platform is the page.

    Args:
        host: the plugin's host.
        pages: returns what the page is made of, which is made when the channel starts.
    """

    name = CHANNEL
    edits = False
    network = True
    can: frozenset[Feature] = frozenset({"voice", "files"})
    relays = True
    """Turns in other processes are told by :mod:`.sharing`."""
    listener = "web-server"
    """Channels that have it belong to one gateway, where several share a store."""

    def __init__(self, host: Host, pages: Callable[[], Pages]) -> None:
        self._host, self._pages = host, pages
        self._server: WebServer | None = None

    async def start(self) -> None:
        """Have the web server listen. Raises ``HooklineError`` or ``OSError`` with a sentence."""
        server = self._host.services.get(WebServer)
        if server is None:
            raise HooklineError(
                "web-ui needs the plugin web-server. Run `hookline plugins enable web-server`."
            )
        await self._pages().started()
        await server.acquire()
        self._server = server

    async def wait(self) -> None:
        """Return when the server has stopped; raise the error if it failed."""
        if self._server is not None:
            await self._server.wait()

    async def stop(self) -> None:
        """End every stream and let go of the server."""
        self._pages().hub.close()
        server, self._server = self._server, None
        if server is not None:
            await server.release()

    async def private_chat(self, user_id: str) -> str | None:
        """Return the chat in which a person can be asked who has never written: their own, if a
        browser of theirs is logged in."""
        server = self._host.services.get(WebServer)
        return user_id if server is not None and await server.devices(user_id) else None

    async def send(self, reply: Reply) -> str:
        """Tell a reply to the pages; its own id is the id of the message."""
        return await self._pages().send(reply)
