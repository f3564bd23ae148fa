"""Keeps the order and the button labels of the bot's own messages."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

from hookline_hookspecs import Host, Reply, WorkDistribution

MAX_MESSAGES_PER_CHAT = 16
MAX_CHATS = 2048
LABELS_PREFIX = "buttons:"
"""Prefix of chat and message in ``host.storage.kv``."""
LABELS_SECONDS = 30 * 86_400.0
"""Seconds after which labels are deleted; presses of those buttons then choose nothing."""
PRESS_TIMEOUT = 10.0
"""Seconds that a press waits until the reply that shows its message is recorded."""
SHARED_PRESS_TIMEOUT, SHARED_PRESS_INTERVAL = 2.0, 0.05
"""Seconds that a press waits for another process to store labels, and between two checks. Slack and
Discord allow 3 s to answer a press."""


class SentMessages:
    """The latest messages of this process by chat: their ids, and when sending began.

    A message may arrive long after it was written, and the platform's clock differs from ours. If
    ids grow within a chat, they show which of the bot's messages an author had seen.
    """

    def __init__(self) -> None:
        self._sent: OrderedDict[str, list[tuple[Decimal, float]]] = OrderedDict()

    def add(self, chat: str, message: str, began: float) -> None:
        """Add a message of the bot; ``began`` is the Unix time at which sending began."""
        if (number := cursor_number(message)) is not None:
            messages = [*self._sent.get(chat, []), (number, began)]
            self._sent[chat] = messages[-MAX_MESSAGES_PER_CHAT:]
            self._sent.move_to_end(chat)
            while len(self._sent) > MAX_CHATS:
                self._sent.popitem(last=False)

    def received_at(self, chat: str, cursor: str, now: float) -> float:
        """Return the time to record for a message: before the bot's messages below it."""
        number = cursor_number(cursor)
        if number is None:
            return now
        later = [began for sent, began in self._sent.get(chat, []) if sent > number]
        return min([now, *later])


def cursor_number(text: str) -> Decimal | None:
    """Return a cursor or message id as a number; None if it is not one."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


@dataclass(slots=True, eq=False)
class _PendingReply:
    """A reply with buttons that is being sent. ``message`` is its id, once known."""

    chat: str
    message: str = ""
    done: asyncio.Event = field(default_factory=asyncio.Event)


class ButtonLabels:
    """The labels of every message with buttons, and the id of its question, in ``host.storage.kv``.

    A press has only the number of its button. People can press a button as soon as it is shown,
    before its message's id is known. So a press waits while a reply that may contain it is being
    sent (:meth:`begin` to :meth:`end`); after that the labels are stored. With several processes,
    another one may have sent the message, and the press waits for its labels in the store.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._pending: dict[str, _PendingReply] = {}

    def begin(self, reply: str, chat: str) -> None:
        """Record that the reply with this id will show buttons in a chat."""
        self._pending.setdefault(reply, _PendingReply(chat))

    async def save(self, reply: Reply, message: str, labels: Sequence[str]) -> None:
        """Store the labels of a message of the reply. A failure is logged."""
        chat = reply.session.chat_id
        if reply.id in self._pending:
            self._pending[reply.id].message = message
        value = {"labels": [str(label) for label in labels], "at": self._host.now()}
        value["question"] = reply.question
        try:
            await self._host.storage.kv.set(_labels_key(chat, message), value)
        except Exception as error:
            self._host.log.warning("cannot store button labels: %s", error)

    def end(self, reply: str) -> None:
        """Record that the reply was delivered and announced, or that sending it failed."""
        if (pending := self._pending.pop(reply, None)) is not None:
            pending.done.set()

    async def find(self, chat: str, message: str, number: str) -> tuple[str, str] | None:
        """Return the label of button ``number``, from 0, and the id of its question, or "".

        None if the message has no such button or is unknown, so that a number never counts as a
        choice. Text that is not a number is already a label.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(PRESS_TIMEOUT):
                while (pending := await self._pending_for(chat, message)) is not None:
                    await pending.done.wait()
        labels, question = await self._load(chat, message)
        is_shared = self._host.services[WorkDistribution].is_shared
        for _ in range(int(SHARED_PRESS_TIMEOUT / SHARED_PRESS_INTERVAL) if is_shared else 0):
            if labels:
                break
            await asyncio.sleep(SHARED_PRESS_INTERVAL)
            labels, question = await self._load(chat, message)
        if not (number.isascii() and number.isdecimal()):
            return number, question
        if len(number) < 4 and int(number) < len(labels):
            return labels[int(number)], question
        return None

    async def _pending_for(self, chat: str, message: str) -> _PendingReply | None:
        """Return the reply in progress that shows a message, or may do so."""
        is_known = bool((await self._load(chat, message))[0])
        ids = (message,) if is_known else (message, "")
        candidates = (one for one in self._pending.values() if one.chat == chat)
        return next((one for one in candidates if one.message in ids), None)

    async def _load(self, chat: str, message: str) -> tuple[Sequence[str], str]:
        """Return the labels of a message, and the id of its question."""
        stored: Any = await self._host.storage.kv.get(_labels_key(chat, message))
        if not isinstance(stored, dict):
            return (), ""
        return stored["labels"], str(stored.get("question", ""))

    async def prune(self) -> None:
        """Delete old labels."""
        kv, oldest = self._host.storage.kv, self._host.now() - LABELS_SECONDS
        for key in await kv.keys(LABELS_PREFIX):
            value = await kv.get(key)
            if not isinstance(value, dict) or value.get("at", 0) < oldest:
                await kv.delete(key)


def _labels_key(chat: str, message: str) -> str:
    return f"{LABELS_PREFIX}{chat}\n{message}"
