"""The service :class:`ConversationSearch`, for finding stored messages by their words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from .chat_files import Chat
from .origins import Origin


@dataclass(frozen=True, slots=True)
class FoundMessage:
    """A message that a search found.

    ``created`` is Unix time in seconds. ``snippet`` is the part around the words, on one line;
    ``missing`` are the words of the query that the message does not contain. ``origins`` are the
    people and pages whose words are in the message; pass them on with the text.
    """

    session_id: str
    seq: int
    role: str
    created: float
    channel: str
    chat_id: str
    snippet: str
    missing: tuple[str, ...] = ()
    origins: tuple[Origin, ...] = ()


class ConversationSearch(Protocol):
    """Finds messages of earlier conversations; provided by a plugin.

    ``host.services.get(ConversationSearch)`` is None without one.
    """

    async def query(
        self,
        text: str,
        *,
        scope: Chat | None,
        any_word: bool = False,
        since: float = 0.0,
        limit: int = 5,
    ) -> list[FoundMessage]:
        """Return the messages that contain every word of ``text``, best first.

        Empty if ``text`` has no words. There is no fallback to messages with some of the words.

        Args:
            scope: the chat whose messages are searched; None for all chats. A chat's messages may
                only be shown in that chat or to the operator; the caller has to see to it.
            any_word: find the messages that contain at least one of the words.
            since: Unix time in seconds; older messages are left out.
            limit: maximum number of messages.
        """
