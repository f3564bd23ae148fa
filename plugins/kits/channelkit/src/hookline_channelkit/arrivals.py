"""What a wire hands over: a message with the files that are still on the platform."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from hookline_hookspecs import Inbound


def digest(text: str) -> str:
    """What stands for a text."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file of a message, still on the platform. The kit fetches it when its sender may write.

    Args:
        ref: all that :meth:`Wire.fetch` needs, as text; it is kept in the store, so no token.
        name: the sender's name for it.
        size: bytes, 0 if the platform does not tell.
        is_voice: a voice message or other sound; it becomes an ``Audio`` if its content is one.
        seconds: of a sound, 0 if the platform does not tell.
    """

    ref: str
    name: str
    size: int = 0
    is_voice: bool = False
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Arrival:
    """Something a person did, as the platform tells it.

    Args:
        inbound: the message. Its ``channel`` is set by the kit. ``message_id`` is the platform's
            id, unique within the channel (``CHAT:ID`` where ids are unique in a chat only). For a
            press, an edit and a deletion it may be empty: the kit makes it of the kind and
            ``target``, so that the second press of a person counts as a repeat, and the same edit
            told twice as one. Of a deletion ``user_id`` may be empty, too, where the platform does
            not tell who wrote the message: the kit knows that of the last ones of each chat.
        files: what came with it, in order.
        cursor: where the message stands in its chat, a decimal number as text that grows with
            every message (a snowflake, a ``ts``, milliseconds); "" if the platform has none, or
            for what is not in :meth:`Wire.history`. The kit keeps the highest one that is stored.
        source: the chat whose history it is in, if that is not ``inbound.chat_id``: of a message
            that begins a thread, the channel around it.
    """

    inbound: Inbound
    files: tuple[RemoteFile, ...] = ()
    cursor: str = ""
    source: str = ""

    @property
    def place(self) -> str:
        """The chat whose history it is in."""
        return self.source or self.inbound.chat_id

    def edited(self, version: str = "") -> Arrival:
        """The news that the message has become this one.

        ``version`` is what the platform tells of this edit alone, its time or number, so that the
        way back to earlier words is news too; without it, an edit is known by its words.
        """
        id_ = f"{self.inbound.message_id}:edit:{version}:{digest(self.inbound.text)}"
        return self._news("edit", id_ if version else "")

    def deleted(self) -> Arrival:
        """The news that the message was taken away."""
        gone = replace(self.inbound, text="", quoted="", origins=(), forwarded="")
        return replace(self, inbound=gone, files=())._news("delete", "")

    def _news(self, kind: Literal["edit", "delete"], id_: str) -> Arrival:
        target = self.inbound.message_id
        return Arrival(replace(self.inbound, kind=kind, target=target, message_id=id_), self.files)


class Take(Protocol):
    """What a wire calls with what it receives. It may be called for many messages at once: those
    of one chat are stored in the order of the calls, and a cancelled call is finished all the
    same."""

    async def __call__(self, arrival: Arrival | Inbound) -> bool:
        """Store something; False if it was there already (of a press: pressed already, see
        :data:`PRESSED`). Acknowledge it to the platform only after this has returned.

        It returns within moments: files are fetched later. If it raises, the platform has to
        deliver the message again, or it is found by catching up.
        """

    async def skip(self, chat: str, cursor: str) -> None:
        """A message of a chat is nothing for the agent: once what was taken before it is stored,
        the chat need not be read back up to there. For chats in which much is said to others."""

    def heard(self) -> None:
        """The platform is there: a poll came back, a ping was answered. Keeps the watchdog calm."""

    def broken(self, reason: str) -> None:
        """Receiving has ended by itself; the watchdog renews the connection now."""

    def reconnected(self) -> None:
        """The client library has made a new connection by itself that is no resume: what was
        written meanwhile is asked for. Call it before anything of that connection is taken. Not
        needed after :meth:`Wire.connect`."""
