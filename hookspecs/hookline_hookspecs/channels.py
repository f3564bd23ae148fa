"""Ways people reach the agent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from .replies import Reply


Feature: TypeAlias = Literal["edits", "threads", "reactions", "ephemeral", "voice", "files", "typing"]
"""A capability of a platform; see :class:`Channel`."""


class Channel(Protocol):
    """A way people reach the agent. Registered by ``register_channels``.

    A channel passes each inbound message to the host's ``receive``. Once that has returned, the
    message is stored durably and the channel may acknowledge it to the platform.

    ``edits``: a sent message can be edited (streaming). ``network``: people other than the
    operator can send messages. A channel may have an attribute ``can``, a frozenset of its
    platform's capabilities (:func:`features` reads it): ``edits``; ``threads``; ``reactions``;
    ``ephemeral``, a reply that only one person in a group chat can see; ``voice`` and ``files``, which it can send;
    ``typing``, a typing indicator.
    """

    name: str
    edits: bool
    network: bool

    async def start(self) -> None:
        """Connect, and return once messages are being received."""

    async def wait(self) -> None:
        """Return when the channel has stopped receiving; raise the error if receiving failed."""

    async def stop(self) -> None:
        """Disconnect."""

    async def send(self, reply: Reply) -> str | Sequence[str] | None:
        """Deliver a reply and return the platform's ids of the messages it was sent as, in order;
        a single id may be a string. Also works after :meth:`stop`.

        If it raises, delivery is retried later: on a network channel after the exception's
        ``retry_after`` seconds, if it has that attribute; elsewhere with the chat's next reply.
        """


def features(channel: Channel) -> frozenset[Feature]:
    """Return the channel's ``can``, or without it what ``edits`` says."""
    told: frozenset[Feature] | None = getattr(channel, "can", None)
    if told is not None:
        return told
    return frozenset({"edits"}) if channel.edits else frozenset()


def message_ids(sent: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return what :meth:`Channel.send` returned as a tuple."""
    if sent is None:
        return ()
    return (sent,) if isinstance(sent, str) else tuple(sent)
