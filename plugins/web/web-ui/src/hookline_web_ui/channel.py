"""The channel ``web``: core stores incoming messages, and replies are published to pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hookline_hookspecs import Feature, HooklineError, Host, Reply
from hookline_hookspecs.channels import Channel
from hookline_hookspecs.web import WebServer

from .session_owner import CHANNEL

if TYPE_CHECKING:
    from .page import Pages


class WebChannel(Channel):
    """A network channel whose platform is the web page.

    Args:
        host: the plugin's host.
        pages: returns the parts of the page, which are created when the channel starts.
    """

    name = CHANNEL
    edits = False
    network = True
    can: frozenset[Feature] = frozenset({"voice", "files"})
    relays = True
    """Turns in other processes are followed by :mod:`.remote_turns`."""
    listener = "web-server"
    """If several gateways share a store, one of them runs all channels with this listener."""

    def __init__(self, host: Host, pages: Callable[[], Pages]) -> None:
        self._host, self._pages = host, pages
        self._server: WebServer | None = None

    async def start(self) -> None:
        """Start the web server. Raises ``HooklineError`` or ``OSError``."""
        server = self._host.services.get(WebServer)
        if server is None:
            raise HooklineError(
                "web-ui needs the plugin web-server. Run `hookline plugins enable web-server`."
            )
        await self._pages().started()
        await server.acquire()
        self._server = server

    async def wait(self) -> None:
        """Wait until the server has stopped; raises its error if it failed."""
        if self._server is not None:
            await self._server.wait()

    async def stop(self) -> None:
        """End every stream and release the server."""
        self._pages().hub.close()
        server, self._server = self._server, None
        if server is not None:
            await server.release()

    async def private_chat(self, user_id: str) -> str | None:
        """Return a person's own chat if one of their browsers is signed in, else None."""
        server = self._host.services.get(WebServer)
        return user_id if server is not None and await server.devices(user_id) else None

    async def question_closed(self, chat_id: str, message_id: str, text: str) -> None:
        """Do nothing: the page follows the stored questions."""

    async def send(self, reply: Reply) -> str:
        """Publish a reply; its id is also the id of the message."""
        return await self._pages().send(reply)
