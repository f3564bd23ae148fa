"""Ways people reach the agent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    from .questions import Question
    from .replies import Reply


TERMINAL = "terminal"
"""The name of the operator's own channel."""

Feature: TypeAlias = Literal[
    "edits", "threads", "reactions", "ephemeral", "voice", "files", "typing"
]
"""A capability of a platform; see :class:`Channel`."""


class Channel(Protocol):
    """A way people reach the agent; subclass it and register it by ``register_channels``.

    A channel passes each inbound message to the host's ``receive``. Once that has returned, the
    message is stored durably and the channel may acknowledge it to the platform.

    Attributes:
        name: unique among the channels.
        edits: a sent message can be edited (streaming).
        network: people other than the operator can send messages.
        can: the platform's capabilities: ``edits``; ``threads``; ``reactions``; ``ephemeral``, a
            reply that only one person in a group chat can see; ``voice`` and ``files``, which it
            can send; ``typing``, a typing indicator.
        shared: several gateways may receive for it at the same time, as behind a load balancer.
        relays: its plugin shows events of other processes' turns in every process by itself.
        listener: the name of the connection it receives through, if other channels share it: one
            process then owns all of them. Otherwise empty.
        awaits_replies: its senders wait for the reply, as clients of an API do. A turn then waits
            at most 290 seconds for an answer to a question.
    """

    name: str
    edits: bool
    network: bool
    can: frozenset[Feature] = frozenset()
    shared: bool = False
    relays: bool = False
    listener: str = ""
    awaits_replies: bool = False

    async def start(self) -> None:
        """Connect, and return once messages are being received."""

    async def wait(self) -> None:
        """Return when the channel has stopped receiving; raise the error if receiving failed."""

    async def stop(self) -> None:
        """Disconnect."""

    async def send(self, reply: Reply) -> str | Sequence[str] | None:
        """Deliver a reply; return the platform's ids of the sent messages in order.

        A single id may be a string. Also works after :meth:`stop`. If it raises, delivery is
        retried: on a network channel after a pause, which a :class:`RetryLater` may set; elsewhere
        with the chat's next reply.
        """

    async def private_chat(self, user_id: str) -> str | None:
        """Return the id of the private chat with this person, opened if necessary, or None.

        An admin who has never written is asked there.
        """
        return None

    async def question_closed(self, chat_id: str, message_id: str, text: str) -> None:
        """Remove the buttons of a message: its question is closed. ``text`` says how."""
        return  # a body, so that subclasses need none of their own

    async def answer_to(self, question: Question) -> str | None:
        """Ask the person at this process the question a turn ended with; None if not answered."""
        return None


def features(channel: Channel) -> frozenset[Feature]:
    """Return the channel's capabilities: ``can``, and ``edits`` if it says so."""
    return channel.can | {"edits"} if channel.edits else channel.can


def message_ids(sent: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return what :meth:`Channel.send` returned as a tuple."""
    if sent is None:
        return ()
    return (sent,) if isinstance(sent, str) else tuple(sent)


@runtime_checkable
class RetryLater(Protocol):
    """An exception of :meth:`Channel.send` that says when to try again."""

    retry_after: float | None
    """Seconds; None if the platform did not say."""
