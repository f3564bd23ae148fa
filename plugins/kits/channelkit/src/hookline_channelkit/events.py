"""Events that a client receives: messages, and actions on them."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, Literal, Protocol

from hookline_hookspecs import HooklineError, Inbound

from .errors import ChatGone, MessageGone, PermissionDenied

ALREADY_PRESSED = "You already pressed a button here. Nothing was changed."
"""Shown to a person after a second press."""
MESSAGE_TOO_OLD = "This message is too old. Please type your answer."
"""Shown after a press on a message that the platform no longer returns."""
PRESS_REPLIES: Final[Mapping[bool | None, str | None]] = MappingProxyType(
    {True: None, False: ALREADY_PRESSED, None: MESSAGE_TOO_OLD}
)
"""The text to show after a press, by the result of :func:`receive_event`; None: nothing."""


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A message's file on the platform. It is downloaded later, and only if its sender may write.

    Args:
        ref: the data for :meth:`PlatformClient.fetch_file`, as text. It is stored, so it must not
            contain a token.
        name: the sender's name for the file.
        size: in bytes; 0 if the platform does not say.
        is_voice: a voice message or other sound; it becomes an ``Audio`` if its content is audio.
        seconds: the duration of a sound; 0 if the platform does not say.
        is_recording: the sender recorded it in the platform's app, for this message.
    """

    ref: str
    name: str
    size: int = 0
    is_voice: bool = False
    seconds: float = 0.0
    is_recording: bool = False


@dataclass(frozen=True, slots=True)
class InboundEvent:
    """Something a person did: a message, a press, an edit, a deletion, a reaction or a command.

    Args:
        inbound: the message. The kit sets its ``channel``. ``message_id`` is the platform's id,
            unique within the channel (``CHAT:ID`` where ids are unique only within a chat). It may
            be empty for a press, an edit and a deletion: the kit then derives it from the kind and
            ``target``, so that a second press by the same person and the same edit reported twice
            count as repeats. ``user_id`` of a deletion may be empty if the platform does not name
            the author: the kit knows the authors of the latest messages of each chat.
        files: the files of the message, in order.
        cursor: the position of the message in its chat, as a decimal number in text that grows with
            every message (a snowflake, a ``ts``, milliseconds); "" if the platform has none, or for
            events that :meth:`PlatformClient.history` does not return. The kit stores the highest.
        source: the chat whose history contains the message, if that is not ``inbound.chat_id``: for
            a message that starts a thread, the channel around it.
        raw: the text as it was sent, if ``inbound.text`` differs: a mention was removed, or marks
            were added. Parts of a long text are recognized by its length.
    """

    inbound: Inbound
    files: tuple[RemoteFile, ...] = ()
    cursor: str = ""
    source: str = ""
    raw: str = ""

    @property
    def history_chat(self) -> str:
        """The chat whose history contains the message."""
        return self.source or self.inbound.chat_id

    @property
    def written(self) -> str:
        """The text as it was sent."""
        return self.raw or self.inbound.text

    def as_edit(self, version: str = "") -> InboundEvent:
        """Return the event that the message was edited to this text.

        ``version`` identifies this edit (its time or number on the platform), so that going back to
        an earlier text is an edit too. Without it, edits are distinguished by their text.
        """
        edit_id = f"{self.inbound.message_id}:edit:{version}:{text_digest(self.inbound.text)}"
        return self._about_message("edit", edit_id if version else "")

    def as_deletion(self) -> InboundEvent:
        """Return the event that the message was deleted."""
        inbound = replace(self.inbound, text="", quoted="", earlier=(), origins=(), forwarded="")
        return replace(self, inbound=inbound, files=())._about_message("delete", "")

    def as_unreadable(self, kind: str) -> InboundEvent:
        """Return the event that a message came which the channel cannot read.

        Its sender is told so. ``kind`` is the platform's name for it.
        """
        return replace(self, inbound=replace(self.inbound, kind="unreadable", text=kind))

    def _about_message(self, kind: Literal["edit", "delete"], event_id: str) -> InboundEvent:
        inbound = replace(
            self.inbound, kind=kind, target=self.inbound.message_id, message_id=event_id
        )
        return InboundEvent(inbound, self.files)


class ReceiveCallback(Protocol):
    """Receives a client's events.

    It may be called for many events at once; those of one chat are stored in the order of the
    calls. A call is completed even if it is cancelled.
    """

    async def __call__(self, event: InboundEvent | Inbound) -> bool:
        """Store an event durably. Acknowledge it to the platform only after this has returned.

        It returns quickly, because files are downloaded later. If it raises, the platform must
        deliver the event again, or it is found by catching up.

        Returns:
            False if the event was stored before; for a press, see :data:`ALREADY_PRESSED`.
        """

    async def skip(self, chat: str, cursor: str) -> None:
        """Record that a message is not for the agent, so that it is not read again.

        Useful in chats where people mostly talk to each other.
        """

    def heartbeat(self) -> None:
        """Report that the platform is reachable: a poll returned or a ping was answered.

        Without this the watchdog probes the connection.
        """

    def disconnected(self, reason: str) -> None:
        """Report that receiving has ended by itself; the watchdog reconnects at once."""

    def reconnected(self) -> None:
        """Report that the client library has reconnected without resuming.

        The kit then reads missed messages. Call it before passing on events of the new connection.
        Not needed after :meth:`PlatformClient.connect`.
        """


async def receive_event(
    receive: ReceiveCallback, parsing: Awaitable[InboundEvent | Inbound | None], log: logging.Logger
) -> bool | None:
    """Parse a platform's event and store it; afterwards it may be acknowledged.

    Args:
        receive: stores the parsed event.
        parsing: returns the parsed event, or None for an event that is not for the agent.
        log: logs events that cannot be parsed, or whose chat or message is gone or inaccessible.
            They are dropped, because a repeat would fail too.

    Returns:
        The result of ``receive``, or None if there was nothing to store.

    Raises:
        Exception: from ``receive``, or a :class:`HooklineError` from ``parsing``: do not
            acknowledge the event, so that the platform delivers it again.
    """
    try:
        event = await parsing
    except (ChatGone, MessageGone, PermissionDenied) as error:
        log.info("dropped an event: %s", error)
        return None
    except HooklineError:
        raise
    except Exception:
        log.exception("dropped an event that could not be parsed")
        return None
    return None if event is None else await receive(event)


def text_digest(text: str) -> str:
    """Return a short digest that represents a text."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
