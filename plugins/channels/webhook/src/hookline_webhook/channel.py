"""The channel ``webhook``: what comes in is stored by core, what goes out comes from its outbox."""

from __future__ import annotations

import asyncio
import hashlib
from typing import TYPE_CHECKING

from hookline_hookspecs import Access, HooklineError, Host, Inbound, Reply
from hookline_hookspecs.channels import Channel
from hookline_hookspecs.web import WebServer
from hookline_webkit.address import Address, parse_address

from .config import WebhookConfig
from .replies import Replies

if TYPE_CHECKING:
    from hookline_webkit.listener import Listener
    from starlette.requests import Request
    from starlette.responses import JSONResponse

    from .body import Delivery


class CannotStart(HooklineError):
    """The channel cannot start; the text says why and what to do."""


class WebhookChannel(Channel):
    """A network channel over HTTP."""

    name = "webhook"
    edits = False
    network = True
    shared = True
    """Any gateway may take a body: the message's id tells which were there."""

    def __init__(self, config: WebhookConfig, host: Host) -> None:
        self._config = config
        self._host = host
        self._secret = config.secret.get_secret_value().encode("utf-8")
        self._stopped = asyncio.Event()
        self._listener: Listener | None = None
        self._shared: WebServer | None = None
        url = config.reply_url
        self._replies = Replies(url, self._secret, config.timeout) if url else None
        self.address: Address | None = None
        """Where it listens by itself, while it does."""

    async def start(self) -> None:
        """Listen. Raises :class:`CannotStart` or ``OSError`` with a sentence."""
        fault = self._config.secret_fault()
        if fault is not None:
            raise CannotStart(fault)
        if self._host.services.get(Access) is None:
            self._host.log.warning("no plugin decides who may write; whoever can sign, may")
        if self._config.listen is None:
            await self._share()
        else:
            await self._listen(parse_address(self._config.listen))
        self._stopped.clear()

    async def _listen(self, address: Address) -> None:
        from .server import listener

        listening = listener(self.endpoint)
        self.address = await listening.start(address)
        self._listener = listening
        self._host.log.info("listening on %s", self.address)

    async def _share(self) -> None:
        """Use the listener of ``web-server``."""
        server = self._host.services.get(WebServer)
        if server is None:
            raise CannotStart(
                "webhook.listen is null, so plugin web-server has to listen, which is not on; "
                "`hookline plugins enable web-server`, or set webhook.listen"
            )
        await server.acquire()
        self._shared = server

    async def endpoint(self, request: Request) -> JSONResponse:
        """Answer ``POST /webhook``."""
        from .server import Endpoint

        secret = b"" if self._config.secret_fault() else self._secret
        endpoint = Endpoint(self._take, secret, self._config.max_bytes, self._host.log)
        return await endpoint(request)

    async def _take(self, delivery: Delivery, body: bytes) -> bool:
        """Store a message; False for a repeated id, and for a body that was taken at any time."""
        storage, digest = self._host.storage, hashlib.sha256(body).hexdigest()
        if await storage.fetch("was_taken", digest=digest):
            return False
        stored = await self._receive(delivery)
        await storage.execute("take", digest=digest)
        return stored

    async def _receive(self, delivery: Delivery) -> bool:
        return await self._host.receive(
            Inbound(
                self.name,
                delivery.chat,
                delivery.user,
                delivery.id,
                delivery.text,
                received=self._host.now(),
                # A chat has no members here; one that is named for its person is theirs alone.
                private=delivery.chat == delivery.user,
                sender=delivery.sender,
                forwarded=delivery.forwarded,
            )
        )

    async def wait(self) -> None:
        """Return when the channel has been stopped. Raises ``OSError`` if its server has ended."""
        if self._listener is not None:
            await self._listener.wait()
        if self._shared is not None:
            await self._shared.wait()
        await self._stopped.wait()

    async def stop(self) -> None:
        """Listen no more. Replies can still be sent, because the gateway drains after this."""
        listener, self._listener, self.address = self._listener, None, None
        shared, self._shared = self._shared, None
        if listener is not None:
            await listener.stop()
        if shared is not None:
            await shared.release()
        self._stopped.set()

    async def send(self, reply: Reply) -> str | None:
        """Post a reply; without ``reply_url`` it stays in the session alone. Raises until it is
        confirmed."""
        if self._replies is not None:
            await self._replies.post(reply)
        return None

    async def aclose(self) -> None:
        """Stop, and close the connections to ``reply_url``."""
        await self.stop()
        if self._replies is not None:
            await self._replies.aclose()
