"""The chats that people have open, in any process of a home (service ``OpenChats``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class OpenChat:
    """A chat that a person has open in this process.

    Attributes:
        session_id: the session that the next message is sent to; it may not be stored yet.
        channel: the channel, such as ``terminal``.
        folder: the workspace.
    """

    session_id: str
    channel: str
    folder: str


class OpenChats(Protocol):
    """Lists open chats for ``hookline sessions --live``, whether or not a turn runs in them.

    The plugin ``inspect`` provides it.
    """

    async def open(self, chat: OpenChat, name: str) -> None:
        """List a chat until it is closed or this process ends, however it ends.

        ``name`` is the chat's own in this process. A second call with it replaces the chat, as when
        the person goes on in another session.
        """

    async def close(self, name: str) -> None:
        """List a chat no longer."""
