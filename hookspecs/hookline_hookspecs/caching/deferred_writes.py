"""Writes that can wait, so that many of them share a transaction and no turn waits for one."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable

from hookline_hookspecs import HooklineError, Host, Transaction

SECONDS = 1.0
"""How long a write waits at most; a crash loses what was written for so long."""
MOST = 10_000
"""Writes that are kept while the storage cannot be written."""


class LaterWrites:
    """Hands writes over in the order in which they were added, within ``seconds``.

    Call :meth:`flush` in ``teardown``, and before you read what may wait here. Only use this for
    what may be lost: a crash loses what was added in the last ``seconds``.
    """

    def __init__(self, host: Host, seconds: float | None = None) -> None:
        """``seconds``: how long a write waits at most; :data:`SECONDS` if None."""
        self._host = host
        self._seconds = SECONDS if seconds is None else seconds
        self._waiting: list[Callable[[Transaction], object]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._flushing = asyncio.Lock()

    def add(self, work: Callable[[Transaction], object]) -> None:
        """Run ``work`` in a transaction, later. If that fails, it is run again with the next."""
        self._waiting.append(work)
        if self._timer is None:
            loop = asyncio.get_running_loop()
            # At the same moments for all plugins, so that their transactions become one.
            when = (math.floor(loop.time() / self._seconds) + 1) * self._seconds
            self._timer = loop.call_at(when, self._due)

    async def flush(self) -> None:
        """Run what waits now. A failure is logged."""
        self._stop()
        async with self._flushing:
            works = list(self._waiting)
            if not works:
                return
            try:
                await self._host.storage.transact(lambda db: [work(db) for work in works])
            except HooklineError as error:
                self._host.log.warning("%d writes are put off: %s", len(works), error)
                del self._waiting[:-MOST]
            except BaseException:
                del self._waiting[: len(works)]  # it would fail again
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
