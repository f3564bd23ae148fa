"""The channel ``webhook``: core stores incoming messages and delivers replies from its outbox."""

from __future__ import annotations

import asyncio
import hashlib
from typing import TYPE_CHECKING, Literal

from hookline_hookspecs import Access, HooklineError, Host, Inbound, Origin, Reply
from hookline_hookspecs.channels import Channel
from hookline_hookspecs.web import WebServer
from hookline_webkit.address import Address, parse_address

from .config import WebhookConfig
from .replies import ReplyPoster

if TYPE_CHECKING:
    from hookline_webkit.listener import Listener
    from starlette.requests import Request
    from starlette.responses import JSONResponse

    from .body import WebhookMessage


class CannotStart(HooklineError):
    """The channel cannot start; the text says why and what to do."""


class WebhookChannel(Channel):
    """A network channel over HTTP."""

    name = "webhook"
    edits = False
    network = True
    shared = True
    """Any gateway may accept a body: repeated ones are recognized by their id."""

    def __init__(self, config: WebhookConfig, host: Host) -> None:
        self._config = config
        self._host = host
        self._secret = config.secret.get_secret_value().encode("utf-8")
        self._stopped = asyncio.Event()
        self._listener: Listener | None = None
        self._shared: WebServer | None = None
        url = config.reply_url
        self._replies = ReplyPoster(url, self._secret, config.timeout) if url else None
        self.address: Address | None = None
        """The address of its own listener, while there is one."""

    async def start(self) -> None:
        """Start listening. Raises :class:`CannotStart` or ``OSError``."""
        error = self._config.secret_error()
        if error is not None:
            raise CannotStart(error)
        if self._host.services.get(Access) is None:
            self._host.log.warning("no access control: anyone with the secret can write")
        if self._config.listen is None:
            await self._use_web_server()
        else:
            await self._listen(parse_address(self._config.listen))
        self._stopped.clear()

    async def _listen(self, address: Address) -> None:
        from .server import listener

        listening = listener(self.endpoint)
        self.address = await listening.start(address)
        self._listener = listening
        self._host.log.info("listening on %s", self.address)

    async def _use_web_server(self) -> None:
        """Use the listener of ``web-server``."""
        server = self._host.services.get(WebServer)
        if server is None:
            raise CannotStart(
                "webhook.listen is null, but the plugin web-server is off. Run "
                "`hookline plugins enable web-server`, or set webhook.listen"
            )
        await server.acquire()
        self._shared = server

    async def endpoint(self, request: Request) -> JSONResponse:
        """Answer ``POST /webhook``."""
        from .server import Endpoint

        secret = b"" if self._config.secret_error() else self._secret
        endpoint = Endpoint(self._store, secret, self._config.max_bytes, self._host.log)
        return await endpoint(request)

    async def _store(self, message: WebhookMessage, body: bytes) -> bool:
        """Store a message; False for a repeated id or a body that was accepted before."""
        storage, digest = self._host.storage, hashlib.sha256(body).hexdigest()
        if await storage.fetch("was_taken", digest=digest):
            return False
        stored = await self._receive(message)
        await storage.execute("take", digest=digest)
        return stored

    async def _receive(self, message: WebhookMessage) -> bool:
        by: Literal["", "agent", "sender"] = ""
        if message.quoted_by in ("agent", "sender"):
            by = "agent" if message.quoted_by == "agent" else "sender"
        author = message.quoted_by or "somebody"
        is_of_other = message.quoted and not by
        return await self._host.receive(
            Inbound(
                self.name,
                message.chat,
                message.user,
                message.id,
                message.text,
                received=self._host.now(),
                # The members of a chat are unknown; one with the user's own id is private.
                private=message.chat == message.user,
                sender=message.sender,
                forwarded=message.forwarded,
                quoted=message.quoted,
                quoted_by=by if message.quoted else "",
                origins=(Origin("outside", f"quoted from {author}"),) if is_of_other else (),
            )
        )

    async def wait(self) -> None:
        """Wait until the channel is stopped. Raises ``OSError`` if its server ends by itself."""
        if self._listener is not None:
            await self._listener.wait()
        if self._shared is not None:
            await self._shared.wait()
        await self._stopped.wait()

    async def stop(self) -> None:
        """Stop listening. Replies can still be sent, because the gateway drains after this."""
        listener, self._listener, self.address = self._listener, None, None
        shared, self._shared = self._shared, None
        if listener is not None:
            await listener.stop()
        if shared is not None:
            await shared.release()
        self._stopped.set()

    async def send(self, reply: Reply) -> str | None:
        """Post a reply; without ``reply_url``, do nothing. Raises unless it is accepted."""
        if self._replies is not None:
            await self._replies.post(reply)
        return None

    async def aclose(self) -> None:
        """Stop, and close the connections to ``reply_url``."""
        await self.stop()
        if self._replies is not None:
            await self._replies.aclose()
