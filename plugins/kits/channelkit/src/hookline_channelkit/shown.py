"""What the bot has written, in the order in which a chat shows it.

A message may come long after it was sent, and the platform's time of it is by another clock. Where
ids only grow within a chat, they tell what stood there when somebody wrote.
"""

from __future__ import annotations

from collections import OrderedDict
from decimal import Decimal, InvalidOperation

EACH = 16
"""Messages of a chat that are remembered, the newest."""
MOST = 2048
"""Chats whose messages are."""


class Shown:
    """Messages of this process by chat: their ids, and when sending them began."""

    def __init__(self) -> None:
        self._began: OrderedDict[str, list[tuple[Decimal, float]]] = OrderedDict()

    def note(self, chat: str, message: str, began: float) -> None:
        """The bot has written a message; sending it ``began`` then, Unix time."""
        if (number := number_of(message)) is not None:
            self._began[chat] = [*self._began.get(chat, []), (number, began)][-EACH:]
            self._began.move_to_end(chat)
            while len(self._began) > MOST:
                self._began.popitem(last=False)

    def received(self, chat: str, cursor: str, now: float) -> float:
        """When a message can be said to have been received: before anything that stands below
        it in the chat was sent."""
        number, later = number_of(cursor), self._began.get(chat, [])
        if number is None:
            return now
        return min([now, *[began for one, began in later if one > number]])


def number_of(text: str) -> Decimal | None:
    """A cursor or id as a number; None if it is none."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None
