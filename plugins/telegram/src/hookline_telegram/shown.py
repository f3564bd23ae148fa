"""What the bot has written, in the order in which a chat shows it.

A message may come long after it was sent, and Telegram's time of it is in whole seconds by another
clock. Within a chat ids only grow, so they tell what stood there when somebody wrote.
"""

from __future__ import annotations

from collections import OrderedDict

from .reading import Json

EACH = 16
"""Messages of a chat that are remembered, the newest."""
MOST = 2048
"""Chats whose messages are."""


class Shown:
    """Messages of this process by chat: their ids, and when sending them began."""

    def __init__(self) -> None:
        self._began: OrderedDict[int, list[tuple[int, float]]] = OrderedDict()

    def note(self, chat: int, number: int, began: float) -> None:
        """The bot has written message ``number``; sending it ``began`` then, Unix time."""
        self._began[chat] = [*self._began.get(chat, []), (number, began)][-EACH:]
        self._began.move_to_end(chat)
        while len(self._began) > MOST:
            self._began.popitem(last=False)

    def received(self, message: Json, now: float) -> float:
        """When a message can be said to have been received: before anything that stands below
        it in the chat was sent."""
        later = self._began.get(message["chat"]["id"], [])
        return min([now, *[began for number, began in later if number > message["message_id"]]])
