"""Delays writes, so that many share a transaction and no turn waits for them."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable

from hookline_hookspecs import HooklineError, Host, Transaction

MAX_DELAY_SECONDS = 1.0
"""How long a write may wait; a crash loses the writes of this time."""
MAX_WAITING_WRITES = 10_000
"""Maximum number of writes that are kept while the storage fails."""


class LaterWrites:
    """Submits writes in the order in which they were added, within ``seconds``.

    Call :meth:`flush` in ``teardown``, and before you read data that may be waiting here. Use this
    only for data that may be lost: a crash loses what was added in the last ``seconds``.
    """

    def __init__(self, host: Host, seconds: float | None = None) -> None:
        """``seconds``: how long a write may wait; :data:`MAX_DELAY_SECONDS` if None."""
        self._host = host
        self._seconds = MAX_DELAY_SECONDS if seconds is None else seconds
        self._waiting: list[Callable[[Transaction], object]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._flushing = asyncio.Lock()

    def add(self, work: Callable[[Transaction], object]) -> None:
        """Run ``work`` in a later transaction. If that fails, it is run again with the next one."""
        self._waiting.append(work)
        if self._timer is None:
            loop = asyncio.get_running_loop()
            # At the same times for all plugins, so that their writes share a transaction.
            when = (math.floor(loop.time() / self._seconds) + 1) * self._seconds
            self._timer = loop.call_at(when, self._due)

    async def flush(self) -> None:
        """Run the waiting writes now. A failure is logged."""
        self._stop()
        async with self._flushing:
            works = list(self._waiting)
            if not works:
                return
            try:
                await self._host.storage.transact(lambda db: [work(db) for work in works])
            except HooklineError as error:
                self._host.log.warning("%d writes failed; will retry: %s", len(works), error)
                del self._waiting[:-MAX_WAITING_WRITES]
            except BaseException:
                del self._waiting[: len(works)]  # they would fail again
                raise
            else:
                del self._waiting[: len(works)]

    def _due(self) -> None:
        self._timer = None
        self._host.spawn(self.flush(), "later-writes")

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
