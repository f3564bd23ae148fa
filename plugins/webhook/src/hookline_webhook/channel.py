"""The channel ``webhook``: what comes in is stored by core, what goes out comes from its outbox."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from hookline_hookspecs import Access, Feature, HooklineError, Host, Inbound, Reply
from hookline_listener import Address, address_of

from .config import WebhookConfig
from .replies import Replies

if TYPE_CHECKING:
    from hookline_listener.server import Listener

    from .body import Delivery


class CannotStart(HooklineError):
    """The channel cannot start; the text says why and what to do."""


class WebhookChannel:
    """A network channel over HTTP (protocol ``Channel``)."""

    name = "webhook"
    edits = False
    network = True
    can: frozenset[Feature] = frozenset()

    def __init__(self, config: WebhookConfig, host: Host) -> None:
        self._config = config
        self._host = host
        self._secret = config.secret.get_secret_value().encode("utf-8")
        self._stopped = asyncio.Event()
        self._listener: Listener | None = None
        url = config.reply_url
        self._replies = Replies(url, self._secret, config.timeout) if url else None
        self.address: Address | None = None
        """Where it listens, while it does."""

    async def start(self) -> None:
        """Listen. Raises :class:`CannotStart` or ``OSError`` with a sentence."""
        fault = self._config.secret_fault()
        if fault is not None:
            raise CannotStart(fault)
        from .server import Endpoint, listener

        if self._host.services.get(Access) is None:
            self._host.log.warning("no plugin decides who may write; whoever can sign, may")
        endpoint = Endpoint(self._take, self._secret, self._config.max_bytes, self._host.log)
        listening = listener(endpoint)
        self.address = await listening.start(address_of(self._config.listen))
        self._listener = listening
        self._stopped.clear()
        self._host.log.info("listening on %s:%d", *self.address)

    async def _take(self, delivery: Delivery) -> bool:
        """Store a message; False for a repeated id."""
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
        await self._stopped.wait()

    async def stop(self) -> None:
        """Listen no more. Replies can still be sent, because the gateway drains after this."""
        listener, self._listener, self.address = self._listener, None, None
        if listener is not None:
            await listener.stop()
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
