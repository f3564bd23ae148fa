"""Sends notices to other processes; notices that wait at the same moment share one statement."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from .connection import sanitize

MAX_BATCH_NOTICES = 256
"""The maximal number of notices in one statement."""


class RunNodeStatement(Protocol):
    """Runs a statement of ``nodes.sql``. Raises ``StoreError``."""

    def __call__(self, query: str, /, **params: object) -> object: ...


@dataclass(eq=False)
class _Notice:
    channel: str
    payload: str
    done: asyncio.Future[None]


class Notices:
    """Sends notices in the order of the calls, on one thread."""

    def __init__(self, ask: RunNodeStatement) -> None:
        self._run = ask
        self._pool = ThreadPoolExecutor(1, "hookline-notices")
        self._lock = threading.Lock()
        self._waiting: list[_Notice] = []
        self._is_sending = False

    def send(self, channel: str, payload: str) -> asyncio.Future[None]:
        """Send ``payload`` on ``channel``; the returned future may raise ``StoreError``."""
        done = asyncio.get_running_loop().create_future()
        with self._lock:
            self._waiting.append(_Notice(channel, str(sanitize(payload)), done))
            is_idle = not self._is_sending
            self._is_sending = True
        if is_idle:
            self._pool.submit(self._send_waiting)
        return done

    def _send_waiting(self) -> None:
        while notices := self._next():
            error: Exception | None = None
            try:
                self._run(
                    "tell_all",
                    channels=[notice.channel for notice in notices],
                    payloads=[notice.payload for notice in notices],
                )
            except Exception as fault:
                error = fault
            for loop in {notice.done.get_loop() for notice in notices}:
                mine = [notice for notice in notices if notice.done.get_loop() is loop]
                with suppress(RuntimeError):  # the event loop is closed
                    loop.call_soon_threadsafe(_resolve, mine, error)

    def _next(self) -> list[_Notice]:
        """The next batch, without duplicates: NOTIFY drops equal notices of one transaction."""
        with self._lock:
            chosen: dict[tuple[str, str], _Notice] = {}
            for notice in self._waiting[:MAX_BATCH_NOTICES]:
                if (notice.channel, notice.payload) in chosen:
                    break
                chosen[notice.channel, notice.payload] = notice
            del self._waiting[: len(chosen)]
            self._is_sending = bool(chosen)
            return list(chosen.values())

    def close(self) -> None:
        """Send waiting notices and end the thread."""
        self._pool.shutdown()


def _resolve(notices: Sequence[_Notice], error: Exception | None) -> None:
    for notice in notices:
        if notice.done.done():
            continue
        if error is None:
            notice.done.set_result(None)
        else:
            notice.done.set_exception(error)
