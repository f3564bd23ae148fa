"""What a turn shows, on its way from the process that runs it to the one that shows it, and back.

Where work is shared (service ``WorkDistribution``), the signals of a turn reach only the worker
that runs it. A :class:`Relay` takes what they mean to a page or to a client along, through the
store's ``notify``: in order for each process, a tenth of a second later at most, and never for
sure. What is lost has to do no harm, because messages and replies go through the store.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from secrets import token_hex
from typing import Any, TypeAlias

from hookline_hookspecs import Host, StoreError, WorkDistribution
from hookline_hookspecs.drivers import Store

EVERY_SECONDS = 0.1
ROOM = 6_500
"""Bytes of a payload that hold what is told; all are ASCII."""
WAITING = 5_000
"""What is told at once at most; the oldest is dropped."""
PIECES = 64
"""Processes of which the pieces of a longer word are kept."""
Word: TypeAlias = list[Any]
"""``[kind, key, ...]`` as JSON has it. The last fields of two in a row of kind ``text`` are
joined if all others are equal."""


class Relay:
    """Two topics: what is ``shown``, told by whoever runs turns, and what is ``asked`` of them.

    Args:
        host: the plugin's host.
        channel: whose turns these are; the topics are named after it.
    """

    def __init__(self, host: Host, channel: str) -> None:
        self._host, self._channel = host, channel
        self.id = token_hex(6)
        """Of this process, among all that tell."""
        self._number = 0
        self._waiting: dict[str, list[Word]] = {"shown": [], "asked": []}
        self._telling: asyncio.Task[Any] | None = None
        self._hurry = asyncio.Event()

    @property
    def is_divided(self) -> bool:
        """Whether other processes run turns, or show them."""
        return self._host.services[WorkDistribution].is_shared

    @property
    def is_elsewhere(self) -> bool:
        """Whether another process shows what happens in the channel."""
        return not self._host.services[WorkDistribution].sends(self._channel)

    def show(self, *word: Any, now: bool = False) -> None:
        """Tell the process that shows the channel; ``now`` before what is stored next."""
        self._tell("shown", list(word))
        if now:
            self._hurry.set()

    def ask(self, *word: Any) -> None:
        """Tell the processes that run turns."""
        self._tell("asked", list(word))

    def _tell(self, topic: str, word: Word) -> None:
        waiting = self._waiting[topic]
        last = waiting[-1] if waiting else None
        if last is not None and word[0] == "text" and last[:-1] == word[:-1]:
            last[-1] += word[-1]
            return
        waiting.append(word)
        del waiting[:-WAITING]
        if self._telling is None or self._telling.done():
            self._telling = self._host.spawn(self._send(), "tell what turns show")

    async def _send(self) -> None:
        await asyncio.sleep(0)  # what belongs together is told together
        while any(self._waiting.values()):
            for topic, words in self._waiting.items():
                if words:
                    self._waiting[topic] = []
                    await self._notify(topic, json.dumps(words, default=str))
            self._hurry.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(EVERY_SECONDS):
                    await self._hurry.wait()

    async def _notify(self, topic: str, text: str) -> None:
        self._number += 1
        pieces = [text[at : at + ROOM] for at in range(0, len(text), ROOM)]
        try:
            for number, piece in enumerate(pieces):
                head = f"{self.id} {self._number} {number} {len(pieces)} "
                await self._host.services[Store].notify(self._topic(topic), head + piece)
        except StoreError as error:
            self._host.log.debug("what a turn shows is lost: %s", error)

    def _topic(self, topic: str) -> str:
        return f"relay:{self._channel}:{topic}"

    async def hear(
        self,
        topic: str,
        take: Callable[[str, Word], None],
        missed: Callable[[], Awaitable[None] | None],
    ) -> None:
        """Hand on what others tell as ``take(process, word)``, until cancelled; call ``missed``
        when some of it may be lost, and once from the start on."""
        pieces: dict[str, tuple[str, list[str]]] = {}
        async with self._host.services[Store].listen(self._topic(topic)) as payloads:
            await _called(missed)
            async for payload in payloads:
                if not payload:
                    await _called(missed)
                    continue
                process, batch, number, count, text = payload.split(" ", 4)
                if process == self.id:
                    continue
                known = pieces.get(process)
                if known is None or known[0] != batch:
                    known = pieces[process] = (batch, [])
                if len(known[1]) != int(number):
                    continue  # one before it is lost
                known[1].append(text)
                if len(known[1]) == int(count):
                    del pieces[process]
                    self._hand_on(process, json.loads("".join(known[1])), take)
                while len(pieces) > PIECES:
                    del pieces[next(iter(pieces))]

    def _hand_on(self, process: str, words: list[Word], take: Callable[[str, Word], None]) -> None:
        for word in words:
            try:
                take(process, word)
            except Exception:  # one that is not understood leaves the others
                self._host.log.exception("what a turn elsewhere shows is not understood")


async def _called(missed: Callable[[], Awaitable[None] | None]) -> None:
    if (waiting := missed()) is not None:
        await waiting
