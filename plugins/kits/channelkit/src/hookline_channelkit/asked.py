"""Which labels the buttons of a message have, so that a press can say its number alone."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from hookline_hookspecs import Host, WorkDistribution

PREFIX = "asked:"
"""Before chat and message in the plugin's key-value storage."""
STALE = 30 * 86_400.0
"""Seconds after which the labels are forgotten, and with them what the buttons mean."""
PATIENCE = 10.0
"""Seconds that a press waits at most until core knows of the message that it belongs to."""
ELSEWHERE, LOOK_AGAIN = 2.0, 0.05
"""Seconds that it waits for what another process, which may have shown the message, keeps of it,
and after which it looks again. Slack and Discord want an answer to a press within 3 s."""


@dataclass(slots=True, eq=False)
class _Sending:
    """A reply with buttons on its way. ``message`` is what shows them, once it is there."""

    chat: str
    message: str = ""
    over: asyncio.Event = field(default_factory=asyncio.Event)


class Asked:
    """The labels of every message with buttons, in ``host.storage.kv``.

    A person can press a button as soon as it is shown, which is before its message's id has come
    back. So a press waits while a reply that may be its own is :meth:`coming`, until that is
    :meth:`over`: then the labels are kept, and everybody has heard what was shown. Where several
    processes divide the work, another one may have shown it, and the press waits for the labels.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._coming: dict[str, _Sending] = {}

    def coming(self, reply: str, chat: str) -> None:
        """A reply with this id is about to show buttons in a chat."""
        self._coming.setdefault(reply, _Sending(chat))

    async def note(self, reply: str, chat: str, message: str, labels: Sequence[str]) -> None:
        """A message with these buttons is shown. A failure is logged."""
        if reply in self._coming:
            self._coming[reply].message = message
        value = {"labels": [str(label) for label in labels], "at": self._host.now()}
        try:
            await self._host.storage.kv.set(_key(chat, message), value)
        except Exception as error:
            self._host.log.warning("what the buttons say cannot be kept: %s", error)

    def over(self, reply: str) -> None:
        """A reply was delivered, and core has told so; or it was not."""
        if (sending := self._coming.pop(reply, None)) is not None:
            sending.over.set()

    async def label_of(self, chat: str, message: str, number: str) -> str | None:
        """The label of button ``number``, from 0, once its message is known to everybody. None if
        it has no such button, or none that is known: a number is never taken for what is chosen.
        ``number`` itself where it is none, but a label.
        """
        if not (number.isascii() and number.isdecimal()):
            return number
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                while (sending := await self._sending(chat, message)) is not None:
                    await sending.over.wait()
        labels = await self._labels(chat, message)
        is_shared = self._host.services[WorkDistribution].is_shared
        for _ in range(int(ELSEWHERE / LOOK_AGAIN) if is_shared else 0):
            if labels:
                break
            await asyncio.sleep(LOOK_AGAIN)
            labels = await self._labels(chat, message)
        return labels[int(number)] if len(number) < 4 and int(number) < len(labels) else None

    async def _sending(self, chat: str, message: str) -> _Sending | None:
        """What is on its way and shows a message, or may do so."""
        is_known = bool(await self._labels(chat, message))
        mine = (message,) if is_known else (message, "")
        found = (one for one in self._coming.values() if one.chat == chat)
        return next((one for one in found if one.message in mine), None)

    async def _labels(self, chat: str, message: str) -> Sequence[str]:
        kept: Any = await self._host.storage.kv.get(_key(chat, message))
        return kept["labels"] if isinstance(kept, dict) else ()

    async def prune(self) -> None:
        """Forget what is old."""
        kv, oldest = self._host.storage.kv, self._host.now() - STALE
        for key in await kv.keys(PREFIX):
            value = await kv.get(key)
            if not isinstance(value, dict) or value.get("at", 0) < oldest:
                await kv.delete(key)


def _key(chat: str, message: str) -> str:
    return f"{PREFIX}{chat}\n{message}"
