"""Notices on their way to other processes: those that wait at the same moment share a journey."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from .connection import clean

BATCH_LIMIT = 256
"""Most notices in one statement."""


class Ask(Protocol):
    """Runs a statement of ``nodes.sql``. Raises ``StoreError``."""

    def __call__(self, query: str, /, **params: object) -> object: ...


@dataclass(eq=False)
class _Notice:
    channel: str
    payload: str
    told: asyncio.Future[None]


class Notices:
    """Tells in the order of the calls, on one thread."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._pool = ThreadPoolExecutor(1, "hookline-notices")
        self._lock = threading.Lock()
        self._waiting: list[_Notice] = []
        self._is_telling = False

    def tell(self, channel: str, payload: str) -> asyncio.Future[None]:
        """Tell who listens on ``channel``; the result may raise ``StoreError``."""
        told = asyncio.get_running_loop().create_future()
        with self._lock:
            self._waiting.append(_Notice(channel, str(clean(payload)), told))
            is_idle, self._is_telling = not self._is_telling, True
        if is_idle:
            self._pool.submit(self._tell_waiting)
        return told

    def _tell_waiting(self) -> None:
        while notices := self._next():
            error: Exception | None = None
            try:
                self._ask(
                    "tell_all",
                    channels=[one.channel for one in notices],
                    payloads=[one.payload for one in notices],
                )
            except Exception as fault:
                error = fault
            for loop in {one.told.get_loop() for one in notices}:
                mine = [one for one in notices if one.told.get_loop() is loop]
                with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                    loop.call_soon_threadsafe(_settle, mine, error)

    def _next(self) -> list[_Notice]:
        """What is told next: the database tells equal notices of one transaction only once."""
        with self._lock:
            chosen: dict[tuple[str, str], _Notice] = {}
            for notice in self._waiting[:BATCH_LIMIT]:
                if (notice.channel, notice.payload) in chosen:
                    break
                chosen[notice.channel, notice.payload] = notice
            del self._waiting[: len(chosen)]
            self._is_telling = bool(chosen)
            return list(chosen.values())

    def close(self) -> None:
        """Tell what waits and end the thread."""
        self._pool.shutdown()


def _settle(notices: Sequence[_Notice], error: Exception | None) -> None:
    for one in notices:
        if one.told.done():
            continue
        if error is None:
            one.told.set_result(None)
        else:
            one.told.set_exception(error)
