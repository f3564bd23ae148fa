"""Which labels the buttons of a message have, so that a press can say its number alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hookline_hookspecs import Host

PREFIX = "asked:"
"""Before chat and message in the plugin's key-value storage."""
STALE = 30 * 86_400.0
"""Seconds after which the labels are forgotten, and with them what the buttons mean."""


class Asked:
    """The labels of every message with buttons, in ``host.storage.kv``."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def note(self, chat: str, message: str, labels: Sequence[str]) -> None:
        """A message with these buttons is shown. A failure is logged."""
        value = {"labels": [str(label) for label in labels], "at": self._host.now()}
        try:
            await self._host.storage.kv.set(_key(chat, message), value)
        except Exception as error:
            self._host.log.warning("what the buttons say cannot be kept: %s", error)

    async def label_of(self, chat: str, message: str, number: str) -> str:
        """The label of button ``number``, from 0; ``number`` itself where that is not known."""
        kept: Any = await self._host.storage.kv.get(_key(chat, message))
        labels = kept["labels"] if isinstance(kept, dict) else ()
        is_number = number.isascii() and number.isdecimal() and len(number) < 4
        return labels[int(number)] if is_number and int(number) < len(labels) else number

    async def prune(self) -> None:
        """Forget what is old."""
        kv, oldest = self._host.storage.kv, self._host.now() - STALE
        for key in await kv.keys(PREFIX):
            value = await kv.get(key)
            if not isinstance(value, dict) or value.get("at", 0) < oldest:
                await kv.delete(key)


def _key(chat: str, message: str) -> str:
    return f"{PREFIX}{chat}\n{message}"
