"""Passes live events of turns from the process that runs them to the one that shows them, and back.

With shared work (service ``WorkDistribution``), the signals of a turn reach only the worker that
runs it. A :class:`Relay` passes their content on to a page or a client, through the store's
``notify``: in order for each process, after at most a tenth of a second, and without guarantee. A
lost event must do no harm, because messages and replies go through the store.
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
from hookline_hookspecs.strict_json import read_json

SEND_INTERVAL = 0.1
"""Seconds."""
MAX_PAYLOAD_CHARS = 6_500
"""Characters of events in a payload; all are ASCII."""
MAX_QUEUED_EVENTS = 5_000
"""Events that are queued; beyond that the oldest is dropped."""
MAX_PARTIAL_BATCHES = 64
"""Incomplete batches that are kept, one per process."""
Event: TypeAlias = list[Any]
"""``[kind, key, ...]`` as JSON values. Two consecutive events of kind ``text`` are joined in their
last field if all others are equal."""


class Relay:
    """Two topics: ``shown``, events of turns, and ``asked``, requests to processes that run them.

    Args:
        host: the plugin's host.
        channel: the channel of the turns; part of the topics' names.
    """

    def __init__(self, host: Host, channel: str) -> None:
        self._host, self._channel = host, channel
        self.id = token_hex(6)
        """Identifies this process among the senders."""
        self._number = 0
        self._queued: dict[str, list[Event]] = {"shown": [], "asked": []}
        self._sending: asyncio.Task[Any] | None = None
        self._send_now = asyncio.Event()

    @property
    def is_divided(self) -> bool:
        """Whether other processes run turns or show them."""
        return self._host.services[WorkDistribution].is_shared

    @property
    def is_elsewhere(self) -> bool:
        """Whether another process shows the channel."""
        return not self._host.services[WorkDistribution].sends(self._channel)

    def show(self, *event: Any, now: bool = False) -> None:
        """Send an event to the process that shows the channel; ``now``: without delay."""
        self._queue("shown", list(event))
        if now:
            self._send_now.set()

    def ask(self, *event: Any) -> None:
        """Send a request to the processes that run turns."""
        self._queue("asked", list(event))

    def _queue(self, topic: str, event: Event) -> None:
        queued = self._queued[topic]
        last = queued[-1] if queued else None
        if last is not None and event[0] == "text" and last[:-1] == event[:-1]:
            last[-1] += event[-1]
            return
        queued.append(event)
        del queued[:-MAX_QUEUED_EVENTS]
        if self._sending is None or self._sending.done():
            self._sending = self._host.spawn(self._send(), "relay events")

    async def _send(self) -> None:
        await asyncio.sleep(0)  # collects related events
        while any(self._queued.values()):
            for topic, events in self._queued.items():
                if events:
                    self._queued[topic] = []
                    await self._notify(topic, json.dumps(events, default=str))
            self._send_now.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(SEND_INTERVAL):
                    await self._send_now.wait()

    async def _notify(self, topic: str, text: str) -> None:
        self._number += 1
        pieces = [
            text[at : at + MAX_PAYLOAD_CHARS] for at in range(0, len(text), MAX_PAYLOAD_CHARS)
        ]
        try:
            for number, piece in enumerate(pieces):
                head = f"{self.id} {self._number} {number} {len(pieces)} "
                await self._host.services[Store].notify(self._topic(topic), head + piece)
        except StoreError as error:
            self._host.log.debug("events of a turn are lost: %s", error)

    def _topic(self, topic: str) -> str:
        return f"relay:{self._channel}:{topic}"

    async def receive(
        self,
        topic: str,
        handle: Callable[[str, Event], None],
        missed: Callable[[], Awaitable[None] | None],
    ) -> None:
        """Call ``handle(process, event)`` for the events of other processes, until cancelled.

        ``missed`` is called at the start and whenever events may have been lost.
        """
        pieces: dict[str, tuple[str, list[str]]] = {}
        async with self._host.services[Store].listen(self._topic(topic)) as payloads:
            await _called(missed)
            async for payload in payloads:
                if not payload:
                    await _called(missed)
                    continue
                try:
                    self._take(payload, pieces, handle)
                except ValueError as error:  # anything may have sent it
                    self._host.log.debug("a notification is not a batch of events: %s", error)

    def _take(
        self,
        payload: str,
        pieces: dict[str, tuple[str, list[str]]],
        handle: Callable[[str, Event], None],
    ) -> None:
        """Handle the batch that a payload completes. Raises ``ValueError``."""
        process, batch, number, count, text = payload.split(" ", 4)
        if process == self.id:
            return
        known = pieces.get(process)
        if known is None or known[0] != batch:
            known = pieces[process] = (batch, [])
        if len(known[1]) != int(number):
            return  # an earlier piece is lost
        known[1].append(text)
        if len(known[1]) == int(count):
            del pieces[process]
            self._handle_all(process, read_json("".join(known[1]), any_text=True), handle)
        while len(pieces) > MAX_PARTIAL_BATCHES:
            del pieces[next(iter(pieces))]

    def _handle_all(
        self, process: str, events: object, handle: Callable[[str, Event], None]
    ) -> None:
        for event in events if isinstance(events, list) else ():
            try:
                handle(process, event)
            except Exception:  # must not affect the other events
                self._host.log.exception("an event of a turn in another process failed")


async def _called(missed: Callable[[], Awaitable[None] | None]) -> None:
    if (waiting := missed()) is not None:
        await waiting
