"""The channel itself: :class:`Kit` joins a wire with everything channels share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from hookline_hookspecs import Context, Delta, Feature, Host, Inbound, Reply, Turn

from .delivery import Delivery
from .inbound import Media
from .locks import Locks
from .presence import Presence
from .rates import Rates
from .streaming import Streams
from .watchdog import Patience, Watchdog
from .wire import Wire

DAY = 86_400.0
"""Seconds."""


@dataclass(frozen=True, slots=True)
class KitOptions:
    """How a channel behaves.

    Args:
        stream: show a running answer by editing one message.
        typing: show that somebody writes while a turn runs.
        typing_every: seconds after which the platform forgets that.
        patience: how long a silent connection is believed in.
        keep_days: days that files of messages are kept; None = for ever.
    """

    stream: bool = True
    typing: bool = True
    typing_every: float = 4.5
    patience: Patience = field(default_factory=Patience)
    keep_days: float | None = 30.0


class Kit:
    """A network channel over a :class:`Wire` (protocol ``Channel``).

    A plugin sets ``name``, registers the channel, and calls :meth:`aclose` in its ``teardown``.

    Args:
        host: the plugin's host.
        wire: the platform.
        options: how it behaves.
    """

    name: str
    edits = True
    network = True
    can: frozenset[Feature] = frozenset({"edits", "files", "typing"})
    """What the platform can do; a subclass whose platform can do more says so."""

    def __init__(self, host: Host, wire: Wire, options: KitOptions | None = None) -> None:
        self.host, self.wire = host, wire
        self.options = options or KitOptions()
        self._rates = Rates(wire.limits)
        locks = Locks()
        self._streams = Streams(host, wire, self._rates, locks)
        self._delivery = Delivery(host, wire, self._rates, locks, self._streams)
        self._presence = Presence(wire, self._rates, self.options.typing_every, host.spawn)
        self._connected: list[tuple[str, Callable[..., None]]] = []
        self._watchdog: Watchdog | None = None
        self._watching: asyncio.Task[Any] | None = None
        self._stopped = asyncio.Event()

    # The protocol Channel

    async def start(self) -> None:
        """Connect; return when messages are received. Raises :class:`CannotStart`."""
        self._stopped.clear()
        await self._streams.load()
        await self._delivery.ledger.prune()
        if self.options.keep_days is not None:
            before = self.host.now() - self.options.keep_days * DAY
            await Media(self.host, self.name).prune(before)
        self._listen()
        watchdog = self._watchdog = Watchdog(
            self.wire.probe,
            self.wire.disconnect,
            lambda: self.wire.connect(_Taking(self, watchdog)),
            self.host.log,
            self.options.patience,
        )
        try:
            await self.wire.connect(_Taking(self, watchdog))
        except BaseException:
            self._deafen()
            raise
        self._watching = self.host.spawn(watchdog.run(), "watchdog")

    async def wait(self) -> None:
        """Return when the channel has been stopped."""
        await self._stopped.wait()

    async def stop(self) -> None:
        """Receive no more. Replies can still be sent, because the gateway drains after this."""
        if (watching := self._watching) is not None:
            self._watching = None
            while not watching.done():  # a wire may swallow a cancellation
                watching.cancel()
                await asyncio.wait([watching], timeout=1)
        self._deafen()
        self._presence.stop()
        self._streams.close_all()
        if not self._stopped.is_set():
            self._stopped.set()
            try:
                await self.wire.disconnect()
            except Exception as error:
                self.host.log.warning("the connection does not end: %s", error)

    async def send(self, reply: Reply) -> Sequence[str]:
        """Deliver a reply; the ids of its messages, in order, the last text with the buttons.

        Raises what the wire raises; core calls again later, and the parts that were delivered are
        not sent again. A chat that is gone raises nothing: its reply is given up, with a log line.
        """
        return await self._delivery.send(reply)

    async def aclose(self) -> None:
        """Stop, and close the wire; for the plugin's ``teardown``."""
        await self.stop()
        self.host.signals.disconnect("reply_sent", self._reply_sent)
        await self.wire.aclose()

    # Signals

    def _listen(self) -> None:
        wanted: dict[str, Callable[..., None]] = {
            "start_of_turn": self._start_of_turn,
            "end_of_turn": self._end_of_turn,
            "settled": self._settled,
            "reply_delayed": self._reply_delayed,
            "reply_failed": self._reply_failed,
        }
        if self.options.stream:
            wanted |= {"delta": self._delta, "post_model": self._post_model}
        self._deafen()
        for name, receiver in wanted.items():
            self.host.signals.connect(name, receiver)
            self._connected.append((name, receiver))
        self.host.signals.disconnect("reply_sent", self._reply_sent)
        self.host.signals.connect("reply_sent", self._reply_sent)

    def _deafen(self) -> None:
        """Hear of turns no more; delivered replies are heard of until :meth:`aclose`."""
        for name, receiver in self._connected:
            self.host.signals.disconnect(name, receiver)
        self._connected.clear()

    def _is_mine(self, turn: Turn) -> bool:
        return turn.session.channel == self.name and turn.session.kind == "chat"

    def _start_of_turn(self, turn: Turn, *, ctx: Context | None = None) -> None:
        if self._is_mine(turn):
            if self.options.stream:
                self._streams.begin(turn)
            if self.options.typing:
                self._presence.begin(turn.session.chat_id, turn.inbound.message_id)

    def _delta(self, delta: Delta, *, ctx: Context | None = None) -> None:
        if ctx is not None and delta.kind == "text":
            self._streams.grow(ctx.session.id, delta.text)
        elif ctx is not None and delta.kind == "restart":
            self._streams.pause(ctx.session.id)

    def _post_model(self, _response: object, *, ctx: Context | None = None) -> None:
        if ctx is not None:
            self._streams.pause(ctx.session.id)

    def _end_of_turn(self, turn: Turn, *, ctx: Context | None = None) -> None:
        if self._is_mine(turn):
            self._presence.end(turn.session.chat_id, turn.inbound.message_id)

    def _settled(self, inbound: Inbound, *, ctx: Context | None = None) -> None:
        if inbound.channel == self.name:
            self._presence.end(inbound.chat_id, inbound.message_id)
            self._streams.settled(inbound.chat_id, inbound.message_id)

    def _reply_delayed(self, reply: Reply, *, ctx: Context | None = None) -> None:
        if reply.session.channel == self.name:
            self._streams.delay(reply.session.chat_id, reply.in_reply_to or "")

    def _reply_failed(self, reply: Reply, *, ctx: Context | None = None) -> None:
        if reply.session.channel == self.name:
            self._streams.give_up(reply.session.chat_id, reply.in_reply_to or "")

    async def _forget(self, reply: Reply) -> None:
        await self._delivery.ledger.forget(reply.id)

    def _reply_sent(self, reply: Reply, *, ctx: Context | None = None) -> Any:
        if reply.session.channel != self.name:
            return None
        self._presence.end(reply.session.chat_id, reply.in_reply_to or "")
        return self._forget(reply)


class _Taking:
    """What a wire calls with what it receives (protocol ``Take``)."""

    def __init__(self, kit: Kit, watchdog: Watchdog) -> None:
        self._kit, self._watchdog = kit, watchdog

    async def __call__(self, inbound: Inbound) -> bool:
        self._watchdog.heard()
        return await self._kit.host.receive(inbound)

    def heard(self) -> None:
        self._watchdog.heard()

    def broken(self, reason: str) -> None:
        self._watchdog.broken(reason)
