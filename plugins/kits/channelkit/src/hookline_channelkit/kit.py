"""The channel itself: :class:`Kit` joins a wire with everything channels share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from hookline_hookspecs import (
    Context,
    Delta,
    Feature,
    HooklineError,
    Host,
    Inbound,
    RemoteTurnEvent,
    Reply,
    ToolResult,
    Turn,
)
from hookline_hookspecs.channels import Channel

from .account import Account
from .arrivals import Arrival
from .asked import Asked
from .boards import Boards
from .catchup import CatchUp
from .config import ChannelConfig
from .delivery import Delivery
from .errors import Lost, NotModified
from .fetching import Fetching
from .inbound import Media
from .locks import Locks
from .menu import Menu
from .presence import Presence
from .rates import Rates
from .refusals import Refusals
from .shown import Shown
from .streaming import Streams
from .taking import Taking
from .watchdog import Patience, Watchdog
from .wire import Post, Wire

DAY = 86_400.0
"""Seconds."""
REACTED = "reacted:"
"""Before chat and message in the plugin's key-value storage: how the agent has reacted."""
HEARD_EVERY = 60.0
"""Seconds after which it is kept again that the channel receives."""


@dataclass(frozen=True, slots=True)
class KitOptions:
    """How a channel behaves.

    Args:
        stream: show a running answer by editing one message.
        typing: show that somebody writes while a turn runs.
        commands: the menu: command and help; None = the usual ones; {} = leave it as it is.
        max_bytes: the largest file of a message that is taken.
        patience: how long a silent connection is believed in.
        keep_days: days that files of messages are kept; None = for ever.
    """

    stream: bool = True
    typing: bool = True
    commands: Mapping[str, str] | None = None
    max_bytes: int = 20_000_000
    patience: Patience = field(default_factory=Patience)
    keep_days: float | None = 30.0

    @classmethod
    def of(cls, config: ChannelConfig) -> KitOptions:
        """What the settings say."""
        return cls(
            stream=config.stream,
            commands=config.commands,
            max_bytes=config.max_bytes,
            keep_days=config.keep_days,
        )


class Kit(Channel):
    """A network channel over a :class:`Wire`.

    Its name is the plugin's, so that one kind may be there several times (``telegram:work``).
    :class:`ChannelPlugin` makes, registers and closes it.

    Args:
        host: the plugin's host.
        wire: the platform.
        options: how it behaves.
    """

    network = True

    def __init__(self, host: Host, wire: Wire, options: KitOptions | None = None) -> None:
        self.host, self.wire, self.name = host, wire, host.plugin
        self.options = options or KitOptions()
        self.can: frozenset[Feature] = wire.can
        self.edits = "edits" in wire.can
        self.refusals = Refusals(host)
        self._rates = Rates(wire.limits)
        wire.hold = self._rates.hold
        locks, asked = Locks(), Asked(host)
        shown = Shown()
        self._streams = Streams(host, wire, self._rates, locks, shown)
        self._boards = Boards(host, wire, self._rates, locks, shown)
        self._delivery = Delivery(
            host, wire, self._rates, locks, self._streams, self.refusals, asked, shown
        )
        every = wire.limits.typing_every
        self._presence = Presence(wire, self._rates, every, host.spawn)
        media = Media(host, self.name, self.options.max_bytes)
        self._media, self._asked = media, asked
        self._fetching = Fetching(host, wire, media, self.refusals)
        self._catch_up = CatchUp(host, wire, self.refusals)
        self._taking = Taking(host, self.name, shown, self._fetching, asked, self._catch_up)
        self._menu = Menu(host, wire, self.options.commands)
        self._account = Account(wire.identity)
        self._connected: list[tuple[str, Callable[..., None]]] = []
        self._watchdog: Watchdog | None = None
        self._background: list[asyncio.Task[Any]] = []
        self._stopped = asyncio.Event()
        self._kept = float("-inf")
        self._listen_early()

    # The protocol Channel

    async def start(self) -> None:
        """Connect; return when messages are received. Raises :class:`CannotStart`."""
        self._stopped.clear()
        self._account.claim()
        try:
            await self._begin()
        except BaseException:
            self._account.release()
            raise

    async def _begin(self) -> None:
        await self._streams.load()
        await self._boards.load()
        await self._delivery.ledger.prune()
        await self._asked.prune()
        if self.options.keep_days is not None:
            await self._media.prune(self.host.now() - self.options.keep_days * DAY)
        await self._catch_up.load()
        await self._taking.load()
        self._listen()
        watchdog = self._watchdog = Watchdog(
            self.wire.probe,
            self._disconnect,
            lambda: self._connect(watchdog),
            self.host.log,
            self.options.patience,
        )
        try:
            await self._connect(watchdog)
        except BaseException:
            self._deafen()
            raise
        catching = self._catch_up.run(self._taking.keep, self._taking.in_order)
        self._background = [
            self.host.spawn(watchdog.run(), "watchdog"),
            self.host.spawn(catching, "catch up"),
        ]

    async def _connect(self, watchdog: Watchdog) -> None:
        self._catch_up.begin()  # before anything of this connection is stored
        await self.wire.connect(_Take(self, watchdog))
        self.host.spawn(self._menu.show(), "menu")

    async def _disconnect(self) -> None:
        """Receive no more; what is being stored is stored to its end."""
        await self.wire.disconnect()
        await self._taking.settled()

    async def wait(self) -> None:
        """Return when the channel has been stopped."""
        await self._stopped.wait()

    async def stop(self) -> None:
        """Receive no more. Replies can still be sent, because the gateway drains after this."""
        background, self._background = self._background, []
        while any(not task.done() for task in background):  # a wire may swallow a cancellation
            for task in background:
                task.cancel()
            await asyncio.wait(background, timeout=1)
        self._deafen()
        self._presence.stop()
        self._streams.close_all()
        if not self._stopped.is_set():
            self._stopped.set()
            try:
                await self._disconnect()
                await self._catch_up.heard()
            except Exception as error:
                self.host.log.warning("the connection does not end: %s", error)
        self._account.release()

    async def send(self, reply: Reply) -> Sequence[str]:
        """Deliver a reply; the ids of its messages, in order, the last text with the buttons.

        Raises what the wire raises; core calls again later, and the parts that were delivered are
        not sent again. A chat that is gone raises nothing: its reply is given up, with a log line.
        """
        return await self._delivery.send(reply)

    async def aclose(self) -> None:
        """Stop, and close the wire; for the plugin's ``teardown``."""
        await self.stop()
        self._deafen()
        self.host.signals.disconnect("reply_sent", self._reply_sent)
        await self.wire.aclose()

    async def react(self, chat_id: str, message_id: str, emoji: str | None) -> None:
        """Set the agent's reaction to a message, in place of the one before; None takes it away."""
        kv, key = self.host.storage.kv, f"{REACTED}{chat_id}\n{message_id}"
        if (before := await kv.get(key)) is not None:
            await self._rates.wait(chat_id, "edit")
            with suppress(Lost, NotModified):
                await self.wire.unreact(chat_id, message_id, before)
            await kv.delete(key)
        if emoji is not None:
            await self._rates.wait(chat_id, "edit")
            await kv.set(key, await self.wire.react(chat_id, message_id, emoji))

    async def open_thread(self, chat_id: str, message_id: str) -> str:
        """Start a thread at a message, or find the existing one; its id."""
        await self._rates.wait(chat_id, "text")
        return await self.wire.open_thread(chat_id, message_id)

    async def private_chat(self, user_id: str) -> str | None:
        """The chat with a person alone, opened if need be; None if there is none, or if the
        platform does not tell just now. There an admin is asked who is named by config and has
        never written."""
        try:
            return await self.wire.private_chat(user_id)
        except HooklineError as error:
            self.host.log.warning("no private chat with %s: %s", user_id, error)
            return None

    # What the wire tells

    async def take(self, arrival: Arrival | Inbound) -> bool:
        """Store what was received; see :class:`Take`."""
        return await self._taking.take(arrival)

    async def skip(self, chat: str, cursor: str) -> None:
        """A message is nothing for the agent; see :class:`Take`."""
        await self._taking.skip(chat, cursor)

    def heard(self) -> None:
        """The platform is there; kept from time to time, for chats that were never heard of."""
        now = asyncio.get_running_loop().time()
        if now - self._kept > HEARD_EVERY:
            self._kept = now
            self.host.spawn(self._catch_up.heard(), "heard")

    def reconnected(self) -> None:
        """The connection is new, and something may have been missed."""
        self._catch_up.begin()

    # People who may write

    def passed(self, inbound: Inbound) -> None:
        """Nobody has refused this message. Was it a press, its buttons have done their work; and
        only now is its sender told of a file that was not taken."""
        if inbound.kind == "press" and inbound.target:
            self.host.spawn(self._unbutton(inbound.chat_id, inbound.target), "buttons")
        if (problem := self._fetching.problem_of(inbound.message_id)) is not None:
            self.host.spawn(self._tell(inbound.chat_id, problem), "tell")

    async def _unbutton(self, chat: str, message: str) -> None:
        try:
            await self._rates.wait(chat, "edit")
            await self.wire.unbutton(chat, message)
        except (Lost, NotModified):
            return
        except Exception as error:
            self.host.log.info("the buttons of a message could not be taken away: %s", error)

    async def _tell(self, chat: str, sentence: str) -> None:
        try:
            await self._rates.wait(chat)
            await self.wire.text(chat, sentence, Post(kind="notice"))
        except Exception as error:
            self.host.log.warning("somebody could not be told of a file: %s", error)

    # Signals

    def _listen_early(self) -> None:
        """Hear of turns that a dead process left, which go on before the channel is started: what
        comes behind them in their chats waits for their replies."""
        wanted: dict[str, Callable[..., None]] = {
            "settled": self._settled,
            "reply_delayed": self._reply_delayed,
            "reply_failed": self._reply_failed,
        }
        if self.options.stream:
            wanted["start_of_turn"] = self._begin_stream
        for name, receiver in wanted.items():
            self.host.signals.connect(name, receiver)
            self._connected.append((name, receiver))
        self.host.signals.connect("reply_sent", self._reply_sent)

    def _listen(self) -> None:
        wanted: dict[str, Callable[..., None]] = {
            "start_of_turn": self._start_of_turn,
            "post_tool": self._post_tool,
            "remote_turn": self._remote_turn,
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

    def _deafen(self) -> None:
        """Hear of turns no more; delivered replies are heard of until :meth:`aclose`."""
        for name, receiver in self._connected:
            self.host.signals.disconnect(name, receiver)
        self._connected.clear()

    def _is_mine(self, turn: Turn) -> bool:
        return turn.inbound.channel == self.name and turn.session.kind == "chat"

    def _start_of_turn(self, turn: Turn, *, ctx: Context | None = None) -> None:
        if self._is_mine(turn):
            if self.options.stream:
                self._begin_stream(turn)
            if self.options.typing:
                self._presence.begin(turn.inbound.chat_id, turn.inbound.message_id)

    def _begin_stream(self, turn: Turn, *, ctx: Context | None = None) -> None:
        if self._is_mine(turn):
            self._streams.begin(turn.inbound.chat_id, turn.inbound.message_id, turn.session.id)

    def _remote_turn(self, event: RemoteTurnEvent, *, ctx: Context | None = None) -> None:
        """A turn of the channel runs in another process."""
        if event.channel != self.name:
            return
        chat, message, session = event.chat_id, event.message_id, event.session_id
        if event.kind == "board":
            self._boards.show(chat, message, event.text)
        elif event.kind == "ended":
            self._boards.end(chat, message)
            self._presence.end(chat, message)
            self._streams.settled(chat, message)
        elif event.kind == "begun" and self.options.typing:
            self._presence.begin(chat, message)
        if not self.options.stream:
            return
        if event.kind == "begun":
            self._streams.begin(chat, message, session)
        elif event.kind == "text":
            self._streams.grow(session, event.text)
        elif event.kind == "paused":
            self._streams.pause(session)

    def _delta(self, delta: Delta, *, ctx: Context | None = None) -> None:
        if ctx is not None and delta.kind == "text":
            self._streams.grow(ctx.session.id, delta.text)
        elif ctx is not None and delta.kind == "restart":
            self._streams.pause(ctx.session.id)

    def _post_model(self, _response: object, *, ctx: Context | None = None) -> None:
        if ctx is not None:
            self._streams.pause(ctx.session.id)

    def _post_tool(self, result: ToolResult, *, ctx: Context | None = None) -> None:
        """A tool keeps a text up to date, such as a plan: its result has a ``board``."""
        if ctx is None or not result.ok or not isinstance(result.data, Mapping):
            return
        if "board" in result.data and result.shown and self._is_mine(turn := ctx.turn):
            self._boards.show(turn.inbound.chat_id, turn.inbound.message_id, result.shown)

    def _end_of_turn(self, turn: Turn, *, ctx: Context | None = None) -> None:
        if self._is_mine(turn):
            self._boards.end(turn.inbound.chat_id, turn.inbound.message_id)
            self._presence.end(turn.inbound.chat_id, turn.inbound.message_id)

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
        self._asked.over(reply.id)
        self._presence.end(reply.session.chat_id, reply.in_reply_to or "")
        return self._forget(reply)


class _Take:
    """What a wire calls with what it receives (protocol ``Take``)."""

    def __init__(self, kit: Kit, watchdog: Watchdog) -> None:
        self._kit, self._watchdog = kit, watchdog

    async def __call__(self, arrival: Arrival | Inbound) -> bool:
        self._watchdog.heard()
        return await self._kit.take(arrival)

    async def skip(self, chat: str, cursor: str) -> None:
        self._watchdog.heard()
        await self._kit.skip(chat, cursor)

    def heard(self) -> None:
        self._watchdog.heard()
        self._kit.heard()

    def broken(self, reason: str) -> None:
        self._watchdog.broken(reason)

    def reconnected(self) -> None:
        self._watchdog.heard()
        self._kit.reconnected()
