"""The visible messages of a fake platform's chats, and their earlier versions."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

TIMEOUT = float(os.environ.get("HOOKLINE_TEST_PATIENCE", "90"))
"""Seconds until a test gives up; no test relies on reaching it."""


@dataclass(slots=True)
class ChatMessage:
    """A message of the bot. ``history`` has all its texts; ``more`` is data of the fake."""

    chat: str
    id: str
    text: str
    token: str = ""
    is_removed: bool = False
    history: list[str] = field(default_factory=list)
    more: dict[str, Any] = field(default_factory=dict)


class ChatLog:
    """Every message of the bot, in the order of sending, of all processes."""

    def __init__(self) -> None:
        self.all_messages: list[ChatMessage] = []
        self.changed = threading.Condition()
        self._count = 0

    def add(
        self,
        chat: str,
        text: str,
        *,
        id: str = "",  # noqa: A002
        token: str = "",
        **more: Any,
    ) -> ChatMessage:
        """Add a message; without ``id`` it gets a number."""
        with self.changed:
            self._count += 1
            message = ChatMessage(chat, id or str(self._count), text, token, more=more)
            message.history.append(text)
            self.all_messages.append(message)
            self.changed.notify_all()
            return message

    def edit(self, chat: str, id: str, text: str, **more: Any) -> ChatMessage | None:  # noqa: A002
        """Edit a message; return None if it does not exist."""
        with self.changed:
            if (message := self.get(chat, id)) is not None:
                message.text = text
                message.more.update(more)
                message.history.append(text)
                self.changed.notify_all()
            return message

    def remove(self, chat: str, id: str) -> ChatMessage | None:  # noqa: A002
        """Delete a message; return None if it does not exist."""
        with self.changed:
            if (message := self.get(chat, id)) is not None:
                message.is_removed = True
                self.changed.notify_all()
            return message

    def get(self, chat: str, id: str) -> ChatMessage | None:  # noqa: A002
        """Return a visible message; None if there is none."""
        return next((one for one in self.messages(chat) if one.id == id), None)

    def with_token(self, chat: str, token: str) -> ChatMessage | None:
        """Return the message that was sent with a token, for platforms that can look it up."""
        return next((one for one in self.messages(chat) if token and one.token == token), None)

    def messages(self, chat: str | None = None) -> list[ChatMessage]:
        """Return the visible messages of one chat or of all."""
        with self.changed:
            visible = [one for one in self.all_messages if not one.is_removed]
            return [one for one in visible if chat in (None, one.chat)]

    def texts(self, chat: str | None = None) -> list[str]:
        """Return the texts of visible messages."""
        return [one.text for one in self.messages(chat)]

    def wait(self, until: Callable[[], Any], timeout: float = TIMEOUT) -> Any:
        """Wait until ``until()`` is true, and return its result. It is called whenever the log
        changes, and every tenth of a second. Raises ``AssertionError`` with the last texts."""
        ends = time.monotonic() + timeout
        with self.changed:
            while not (result := until()):
                if time.monotonic() > ends:
                    raise AssertionError(f"timed out; the last texts: {self.texts()[-8:]}")
                self.changed.wait(0.1)
            return result

    def find(self, part: str, chat: str | None = None) -> ChatMessage:
        """Wait for a message that contains ``part``, and return the first."""
        message: ChatMessage = self.wait(
            lambda: next((one for one in self.messages(chat) if part in one.text), None)
        )
        return message
