"""The channel: :class:`NetworkChannel` combines a client with the shared code of channels."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from hookline_hookspecs import (
    Channel,
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

from .answer_streams import AnswerStreams
from .boards import Boards
from .bot_lock import BotLock
from .catchup import CatchUp
from .client import PlatformClient, SendOptions
from .command_menu import CommandMenu
from .config import ChannelConfig
from .containers import ChatLocks
from .delivery import Delivery
from .errors import MessageGone, NotModified
from .events import InboundEvent
from .ingest import Ingest
from .media import FileDownloader, MediaStore
from .problems import PermissionProblems
from .rate_limiter import RateLimiter
from .sent_messages import ButtonLabels, SentMessages
from .typing_indicator import TypingIndicator
from .wait_notes import WaitNotes
from .watchdog import ReconnectPolicy, Watchdog

DAY = 86_400.0
"""Seconds."""
REACTION_PREFIX = "reaction:"
"""Prefix of chat and message in ``host.storage.kv``: the agent's reaction to the message."""
SAVE_CONNECTED_INTERVAL = 60.0
"""Seconds between two writes of the time at which the channel was last connected."""


@dataclass(frozen=True, slots=True)
class ChannelOptions:
    """How a channel behaves.

    Args:
        stream: show a running answer by editing one message.
        typing: show the typing indicator while a turn runs.
        commands: the command menu: name and help; None = the usual menu; {} = leave it unchanged.
        max_bytes: maximum size of a received file.
        reconnect: when to reconnect.
        keep_days: days that received files are kept; None = forever.
    """

    stream: bool = True
    typing: bool = True
    commands: Mapping[str, str] | None = None
    max_bytes: int = 20_000_000
    reconnect: ReconnectPolicy = field(default_factory=ReconnectPolicy)
    keep_days: float | None = 30.0

    @classmethod
    def from_config(cls, config: ChannelConfig) -> ChannelOptions:
        """Return the options of these settings."""
        return cls(
            stream=config.stream,
            commands=config.commands,
            max_bytes=config.max_bytes,
            keep_days=config.keep_days,
        )


class NetworkChannel(Channel):
    """A network channel over a :class:`PlatformClient`.

    Its name is that of the plugin, so that one kind may exist several times (``telegram:work``).
    :class:`ChannelPlugin` creates, registers and closes it.

    Args:
        host: the plugin's host.
        client: the platform.
        options: the options of the channel.
    """

    network = True

    def __init__(
        self, host: Host, client: PlatformClient, options: ChannelOptions | None = None
    ) -> None:
        self.host, self.client, self.name = host, client, host.plugin
        self.options = options or ChannelOptions()
        self.can: frozenset[Feature] = client.can
        self.edits = "edits" in client.can
        self.problems = PermissionProblems(host)
        self._rates = RateLimiter(client.limits)
        client.pause_requests = self._rates.pause
        locks, sent = ChatLocks(), SentMessages()
        self._labels = ButtonLabels(host)
        self._streams = AnswerStreams(host, client, self._rates, locks, sent)
        self._boards = Boards(host, client, self._rates, locks, sent)
        self._waits = WaitNotes(self._boards, host.now)
        self._delivery = Delivery(
            host, client, self._rates, locks, self._streams, self.problems, self._labels, sent
        )
        self._typing = TypingIndicator(client, self._rates, client.limits.typing_every, host.spawn)
        self._media = MediaStore(host, self.name, self.options.max_bytes)
        self._downloader = FileDownloader(host, client, self._media, self.problems)
        self._catch_up = CatchUp(host, client, self.problems)
        self._ingest = Ingest(
            host, self.name, sent, self._downloader, self._labels, self._catch_up, client.pastes
        )
        self._menu = CommandMenu(host, client, self.options.commands)
        self._bot_lock = BotLock(client.identity)
        self._receivers: list[tuple[str, Callable[..., None]]] = []
        self._background: list[asyncio.Task[Any]] = []
        self._stopped = asyncio.Event()
        self._connected_saved_at = float("-inf")
        self._connect_early()

    # The protocol Channel

    async def start(self) -> None:
        """Connect, and wait until messages are received. Raises :class:`CannotStart`."""
        self._stopped.clear()
        self._bot_lock.acquire()
        try:
            await self._load()
            self._connect_signals()
            watchdog = Watchdog(
                self.client.probe,
                self._disconnect,
                lambda: self._connect(watchdog),
                self.host.log,
                self.options.reconnect,
            )
            await self._connect(watchdog)
        except BaseException:
            self._disconnect_signals()
            self._bot_lock.release()
            raise
        catching_up = self._catch_up.run(self._ingest.ingest_missed, self._ingest.lock_of)
        self._background = [
            self.host.spawn(watchdog.run(), "watchdog"),
            self.host.spawn(catching_up, "catch up"),
        ]

    async def _load(self) -> None:
        """Load data of earlier processes, and delete old data."""
        await self._streams.load()
        await self._boards.load()
        await self._delivery.ledger.prune()
        await self._labels.prune()
        if self.options.keep_days is not None:
            await self._media.prune(self.host.now() - self.options.keep_days * DAY)
        await self._catch_up.load()
        await self._ingest.load()

    async def _connect(self, watchdog: Watchdog) -> None:
        self._catch_up.mark_all_behind()  # before any event of this connection is stored
        await self.client.connect(_Receive(self, watchdog))
        self.host.spawn(self._menu.update(), "menu")

    async def _disconnect(self) -> None:
        """Stop receiving, and finish storing received events."""
        await self.client.disconnect()
        await self._ingest.wait()

    async def wait(self) -> None:
        """Wait until the channel is stopped."""
        await self._stopped.wait()

    async def stop(self) -> None:
        """Stop receiving. Replies can still be sent, because the gateway drains after this."""
        background, self._background = self._background, []
        while any(not task.done() for task in background):  # a client may swallow a cancellation
            for task in background:
                task.cancel()
            await asyncio.wait(background, timeout=1)
        self._disconnect_signals()
        self._typing.stop_all()
        self._streams.close_all()
        if not self._stopped.is_set():
            self._stopped.set()
            try:
                await self._disconnect()
                await self._catch_up.save_connected()
            except Exception as error:
                self.host.log.warning("cannot disconnect: %s", error)
        self._bot_lock.release()

    async def send(self, reply: Reply) -> Sequence[str]:
        """Deliver a reply. Returns the ids of its messages, texts first.

        Raises the client's errors; core calls again later, and the delivered parts are not sent
        again. A reply to a chat that is gone raises nothing: it is given up and logged.
        """
        return await self._delivery.send(reply)

    async def aclose(self) -> None:
        """Stop, and close the client; for the plugin's ``teardown``."""
        await self.stop()
        self.host.signals.disconnect("reply_sent", self._reply_sent)
        await self.client.aclose()

    async def react(self, chat_id: str, message_id: str, emoji: str | None) -> None:
        """Set the agent's reaction to a message in place of the previous one; None removes it."""
        kv, key = self.host.storage.kv, f"{REACTION_PREFIX}{chat_id}\n{message_id}"
        if (previous := await kv.get(key)) is not None:
            await self._rates.acquire(chat_id, "edit")
            with suppress(MessageGone, NotModified):
                await self.client.remove_reaction(chat_id, message_id, previous)
            await kv.delete(key)
        if emoji is not None:
            await self._rates.acquire(chat_id, "edit")
            await kv.set(key, await self.client.react(chat_id, message_id, emoji))

    async def open_thread(self, chat_id: str, message_id: str) -> str:
        """Start a thread at a message, or find the existing one. Returns its id."""
        await self._rates.acquire(chat_id, "text")
        return await self.client.open_thread(chat_id, message_id)

    async def private_chat(self, user_id: str) -> str | None:
        """Return the private chat with a person, opened if necessary.

        None if there is none or the platform does not answer. An admin who is listed in config but
        has never written is asked there.
        """
        try:
            return await self.client.private_chat(user_id)
        except HooklineError as error:
            self.host.log.warning("no private chat with %s: %s", user_id, error)
            return None

    async def question_closed(self, chat_id: str, message_id: str, text: str) -> None:
        """Remove the buttons of a message. Core sends ``text`` where it is needed."""
        await self._remove_buttons(chat_id, message_id)

    # Called by the client

    async def receive(self, event: InboundEvent | Inbound) -> bool:
        """Store an event; see :class:`ReceiveCallback`."""
        return await self._ingest.ingest(event)

    async def skip(self, chat: str, cursor: str) -> None:
        """Skip a message that is not for the agent; see :class:`ReceiveCallback`."""
        await self._ingest.skip(chat, cursor)

    def heartbeat(self) -> None:
        """Record that the platform is reachable.

        The time is stored at intervals: chats that are still unknown are later read from it on.
        """
        now = asyncio.get_running_loop().time()
        if now - self._connected_saved_at > SAVE_CONNECTED_INTERVAL:
            self._connected_saved_at = now
            self.host.spawn(self._catch_up.save_connected(), "save connected")

    def reconnected(self) -> None:
        """Record that the connection is new and messages may have been missed."""
        self._catch_up.mark_all_behind()

    # Called by the plugin

    def accepted(self, inbound: Inbound) -> None:
        """Handle a message that no plugin has refused.

        The buttons of a press are removed, unless they answer a stored question, which may stay
        open. The sender is notified of a file that was not accepted.
        """
        if inbound.kind == "press" and inbound.target and inbound.text and not inbound.question:
            self.host.spawn(self._remove_buttons(inbound.chat_id, inbound.target), "buttons")
        if (notice := self._downloader.pop_notice(inbound.message_id)) is not None:
            self.host.spawn(self._send_notice(inbound.chat_id, notice), "notice")

    async def _remove_buttons(self, chat: str, message: str) -> None:
        try:
            await self._rates.acquire(chat, "edit")
            await self.client.remove_buttons(chat, message)
        except (MessageGone, NotModified):
            return
        except Exception as error:
            self.host.log.info("cannot remove the buttons of a message: %s", error)

    async def _send_notice(self, chat: str, sentence: str) -> None:
        try:
            await self._rates.acquire(chat)
            await self.client.send_text(chat, sentence, SendOptions(kind="notice"))
        except Exception as error:
            self.host.log.warning("cannot notify the sender of a file: %s", error)

    # Signals

    def _connect_early(self) -> None:
        """Connect the signals that are needed before :meth:`start`.

        Turns of a dead process continue before that, and later messages of their chats wait for
        their replies.
        """
        self._connect_receivers(
            {"start_of_turn": self._start_stream} if self.options.stream else {}
        )
        self.host.signals.connect("reply_sent", self._reply_sent)  # until aclose

    def _connect_signals(self) -> None:
        self._disconnect_signals()
        self._connect_receivers(
            {
                "start_of_turn": self._start_of_turn,
                "delta": self._delta,
                "post_model": self._post_model,
                "remote_turn": self._remote_turn,
            }
        )

    def _connect_receivers(self, receivers: Mapping[str, Callable[..., None]]) -> None:
        """Connect ``receivers``, and those that are always needed."""
        always: dict[str, Callable[..., None]] = {
            "post_tool": self._post_tool,
            "end_of_turn": self._end_of_turn,
            "settled": self._settled,
            "reply_delayed": self._reply_delayed,
            "reply_failed": self._reply_failed,
        }
        for name, receiver in {**always, **receivers}.items():
            self.host.signals.connect(name, receiver)
            self._receivers.append((name, receiver))

    def _disconnect_signals(self) -> None:
        for name, receiver in self._receivers:
            self.host.signals.disconnect(name, receiver)
        self._receivers.clear()

    def _is_mine(self, turn: Turn) -> bool:
        return turn.inbound.channel == self.name and turn.session.kind == "chat"

    def _start_of_turn(self, turn: Turn, *, ctx: Context | None = None) -> None:
        if self._is_mine(turn):
            if self.options.stream:
                self._start_stream(turn)
            if self.options.typing:
                self._typing.start(turn.inbound.chat_id, turn.inbound.message_id)

    def _start_stream(self, turn: Turn, *, ctx: Context | None = None) -> None:
        if self._is_mine(turn):
            self._streams.start(turn.inbound.chat_id, turn.inbound.message_id, turn.session.id)

    def _remote_turn(self, event: RemoteTurnEvent, *, ctx: Context | None = None) -> None:
        """Handle an event of a turn that runs in another process."""
        if event.channel != self.name:
            return
        chat, message, session = event.chat_id, event.message_id, event.session_id
        if event.kind == "board":
            self._boards.show(chat, message, event.text)
        elif event.kind == "ended":
            self._boards.end(chat, message)
            self._typing.stop(chat, message)
            self._streams.settled(chat, message)
        elif event.kind == "begun" and self.options.typing:
            self._typing.start(chat, message)
        if not self.options.stream:
            return
        if event.kind == "begun":
            self._streams.start(chat, message, session)
        elif event.kind == "text":
            self._streams.grow(session, event.text)
        elif event.kind == "paused":
            self._streams.end_response(session)

    def _delta(self, delta: Delta, *, ctx: Context | None = None) -> None:
        if ctx is None:
            return
        if delta.kind == "text":
            self._streams.grow(ctx.session.id, delta.text)
        elif delta.kind == "restart":
            self._streams.end_response(ctx.session.id)
        elif delta.wait is not None and self._is_mine(turn := ctx.turn):
            self._waits.wait(turn.inbound.chat_id, turn.inbound.message_id, delta.wait)

    def _post_model(self, _response: object, *, ctx: Context | None = None) -> None:
        if ctx is None:
            return
        self._streams.end_response(ctx.session.id)
        if self._is_mine(turn := ctx.turn):
            self._waits.end(turn.inbound.chat_id, turn.inbound.message_id, answered=True)

    def _post_tool(self, result: ToolResult, *, ctx: Context | None = None) -> None:
        """Show a text that a tool updates, such as a plan: its result has a ``board``."""
        if ctx is None or not result.ok or not isinstance(result.data, Mapping):
            return
        if "board" in result.data and result.shown and self._is_mine(turn := ctx.turn):
            self._boards.show(turn.inbound.chat_id, turn.inbound.message_id, result.shown)

    def _end_of_turn(self, turn: Turn, *, ctx: Context | None = None) -> None:
        if self._is_mine(turn):
            self._waits.end_turn(turn.inbound.chat_id, turn.inbound.message_id)
            self._boards.end(turn.inbound.chat_id, turn.inbound.message_id)
            self._typing.stop(turn.inbound.chat_id, turn.inbound.message_id)

    def _settled(self, inbound: Inbound, *, ctx: Context | None = None) -> None:
        if inbound.channel == self.name:
            self._typing.stop(inbound.chat_id, inbound.message_id)
            self._streams.settled(inbound.chat_id, inbound.message_id)

    def _reply_delayed(self, reply: Reply, *, ctx: Context | None = None) -> None:
        if reply.session.channel == self.name:
            self._streams.delay(reply.session.chat_id, reply.in_reply_to or "")

    def _reply_failed(self, reply: Reply, *, ctx: Context | None = None) -> None:
        if reply.session.channel == self.name:
            self._streams.give_up(reply.session.chat_id, reply.in_reply_to or "")

    def _reply_sent(self, reply: Reply, *, ctx: Context | None = None) -> Any:
        if reply.session.channel != self.name:
            return None
        self._labels.end(reply.id)
        self._typing.stop(reply.session.chat_id, reply.in_reply_to or "")
        return self._delivery.ledger.forget(reply.id)


class _Receive:
    """Receives a client's events (protocol :class:`ReceiveCallback`)."""

    def __init__(self, channel: NetworkChannel, watchdog: Watchdog) -> None:
        self._channel, self._watchdog = channel, watchdog

    async def __call__(self, event: InboundEvent | Inbound) -> bool:
        self._watchdog.heartbeat()
        return await self._channel.receive(event)

    async def skip(self, chat: str, cursor: str) -> None:
        self._watchdog.heartbeat()
        await self._channel.skip(chat, cursor)

    def heartbeat(self) -> None:
        self._watchdog.heartbeat()
        self._channel.heartbeat()

    def disconnected(self, reason: str) -> None:
        self._watchdog.disconnected(reason)

    def reconnected(self) -> None:
        self._watchdog.heartbeat()
        self._channel.reconnected()
