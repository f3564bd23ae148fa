"""Services for the process that runs the network channels, and hooks into its start and stop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

from .inbound import Inbound
from .replies import Reply

FetchFiles: TypeAlias = "Callable[[Inbound, Sequence[Mapping[str, Any]]], Awaitable[Inbound]]"
"""Fetches what ``Host.receive`` was given as ``files`` and returns the message with them."""


class GatewayHost(Protocol):
    """Core's functions for the process that runs the channels.

    ``host.services[GatewayHost]`` is always available.
    """

    async def recover(
        self, channel: str | None = None, chat_id: str = ""
    ) -> Sequence[Awaitable[object]]:
        """Continue the work of a process that died: unfinished turns, queued messages and
        undelivered replies. Also deletes records of work finished a week ago. Call it before the
        channels start, and periodically.

        With ``channel``, do so for one chat only, and without replies; return the tasks that do
        it. A message after one that another process has claimed is left alone. If work is shared,
        no other code may answer stored messages.

        Raises:
            StoreError: the store fails, or another process is working on a message of the chat.
        """

    async def fetch_files(self, channel: str, fetch: FetchFiles) -> None:
        """Fetch the files of the channel's messages from now on, and of those a dead process left.

        Call it when the channel starts. In each chat, one message is completed at a time; if
        ``fetch`` raises, it is called again after 10 s.

        Raises:
            StoreError: the store failed.
        """

    async def finish(self, seconds: float) -> None:
        """Wait at most ``seconds`` for running turns and replies to finish."""

    async def deliver(self, channel: str, chat_id: str) -> None:
        """Send a chat's waiting replies in order; return when all are sent or will be retried."""

    async def post(self, reply: Reply) -> None:
        """Send a text that answers no message into a chat of a network channel.

        When this returns, it is stored. It is delivered like a reply, in the order of its chat and
        with retries, by another process if this one ends.

        Raises:
            StoreError: it could not be stored.
        """

    async def withdraw(self, channel: str, chat_id: str, message_id: str) -> bool:
        """Remove a message that its author has deleted, while it waits for files or is queued.

        Return False if there is none, because its turn has already begun.
        """


class WorkDistribution(Protocol):
    """How the processes that share a store share the work of network channels.

    ``host.services[WorkDistribution]`` is always available: without a plugin that offers one in
    ``setup``, each process works on what its own channels receive.

    Its methods are called in the event loop; those that are not async return at once.
    """

    is_shared: bool
    """True if other processes work on messages of the same chats, so that all state of a chat must
    be stored."""

    runs_turns_here: bool
    """False for a gateway that leaves turns to others."""

    def sends(self, channel: str) -> bool:
        """Return whether this process sends the channel's replies."""

    def received(
        self, channel: str, chat_id: str, answer: Callable[[], Coroutine[Any, Any, None]]
    ) -> None:
        """A message of the chat is stored. Run ``answer()`` in this process, or, if ``is_shared``,
        have some process call :meth:`GatewayHost.recover` for the chat."""

    def replied(self, channel: str, chat_id: str) -> None:
        """A reply is stored in a channel that this process does not send for."""

    async def finish_left_over(self, finish: Callable[[], Awaitable[object]]) -> None:
        """Await ``finish()``, which continues the work that a dead process left, unless other
        processes do that."""

    async def serve(self, turns: bool) -> None:
        """Called if this process is a gateway; with ``turns`` it also runs turns."""

    async def hold(self, channel: str) -> None:
        """Return once this process owns the channel; it then owns it until it exits."""


@dataclass(frozen=True, slots=True)
class RemoteTurnEvent:
    """Progress of a turn in another process, for this process's channel (signal ``remote_turn``).

    ``text`` is the next part of the answer, or for ``board`` the whole text that a tool keeps up to
    date. After ``paused``, the text of the next response replaces the text so far. Events may be
    lost; the reply is delivered in any case.
    """

    kind: Literal["begun", "text", "paused", "board", "ended"]
    channel: str
    chat_id: str
    message_id: str
    session_id: str
    text: str = ""


class GatewayService(Protocol):
    """Work that a plugin does while a gateway runs in its process.

    Added with ``host.services.add(GatewayService, …)`` and called by the gateway; errors are only
    logged.
    """

    needs_no_channel: bool
    """True if the gateway also runs for this work if there are no channels."""

    runs_turns: bool
    """True if the work runs turns: it is then done by workers instead of a gateway that leaves
    turns to them."""

    async def gateway_up(self, channels: Sequence[str]) -> None:
        """Called with the channels' names once all are up, before the gateway reports ``ready``."""

    async def gateway_stopping(self) -> None:
        """Called when the gateway stops, together with the channels' ``stop``. It is awaited while
        the gateway drains."""


class GatewayCommand(Protocol):
    """``hookline gateway``; offered by the plugin ``gateway``."""

    async def gateway(self, *, needs_model: bool = True) -> None:
        """Run all channels until SIGTERM or SIGINT. Ends with ``SystemExit``.

        With ``needs_model`` it does not start unless a model is set up.
        """
