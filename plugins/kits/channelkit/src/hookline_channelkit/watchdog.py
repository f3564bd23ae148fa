"""Connections that are dead and do not know it: noticed by silence, proved by a probe, renewed."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds. With the defaults a dead connection is renewed within 90 s of its death: 30 of
    silence, 10 for the probe, 10 to disconnect, 30 to connect, and the pause between.

    Args:
        quiet: without a sign of life, until the wire is probed.
        probe: for a probe, and for a disconnect.
        connect: for a connect.
        shortest: before the second attempt to renew, doubled for each one after it.
        longest: between two attempts.
    """

    quiet: float = 30.0
    probe: float = 10.0
    connect: float = 30.0
    longest: float = 30.0
    shortest: float = 1.0


class Watchdog:
    """Renews a connection.

    Args:
        probe: raises if the platform does not answer or nothing is received any more.
        disconnect: ends receiving.
        connect: begins again.
        log: where what happens is told.
        patience: how long what may take.
    """

    def __init__(
        self,
        probe: Callable[[], Awaitable[None]],
        disconnect: Callable[[], Awaitable[None]],
        connect: Callable[[], Awaitable[None]],
        log: logging.Logger,
        patience: Patience | None = None,
    ) -> None:
        self._probe, self._disconnect, self._connect = probe, disconnect, connect
        self._log = log
        self._patience = patience or Patience()
        self._last = 0.0
        self._renewed = float("-inf")
        self._pause = 0.0
        self._reason: str | None = None
        self._wake = asyncio.Event()

    def heard(self) -> None:
        """A sign of life."""
        self._last = asyncio.get_running_loop().time()

    def broken(self, reason: str) -> None:
        """The connection is known to be dead."""
        self._reason = reason
        self._wake.set()

    async def run(self) -> None:
        """Watch until cancelled."""
        self.heard()
        while True:
            await self._sleep()
            reason = self._take_reason() or await self._silent()
            if reason:
                await self._renew(reason)

    async def _sleep(self) -> None:
        """Until it has been quiet for long, or the wire says that it is broken."""
        now = asyncio.get_running_loop().time()
        left = max(0.0, self._last + self._patience.quiet - now)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(left):
                await self._wake.wait()

    def _take_reason(self) -> str | None:
        reason, self._reason = self._reason, None
        self._wake.clear()
        return reason

    async def _silent(self) -> str | None:
        """Why the connection is dead, if it is."""
        if asyncio.get_running_loop().time() < self._last + self._patience.quiet:
            return None
        try:
            async with asyncio.timeout(self._patience.probe):
                await self._probe()
        except Exception as error:
            return f"it does not answer ({_named(error)})"
        self.heard()
        return None

    async def _renew(self, reason: str) -> None:
        """Try until it is up. A connection that broke soon after it was made is waited for too."""
        loop = asyncio.get_running_loop()
        if loop.time() - self._renewed > 2 * self._patience.longest:
            self._pause = 0.0
        while True:
            self._log.warning("the connection is renewed: %s", reason)
            await self._attempt("end", self._disconnect(), self._patience.probe)
            await asyncio.sleep(self._pause)
            self._pause = min(max(self._pause * 2, self._patience.shortest), self._patience.longest)
            self._take_reason()
            fault = await self._attempt("begin", self._connect(), self._patience.connect)
            if fault is None:
                self._log.warning("the connection is up again")
                self._renewed = loop.time()
                self.heard()
                return
            reason = f"it cannot be made ({fault})"

    async def _attempt(self, what: str, work: Awaitable[None], seconds: float) -> str | None:
        try:
            async with asyncio.timeout(seconds):
                await work
        except Exception as error:
            self._log.warning("the connection does not %s: %s", what, _named(error))
            return _named(error)
        return None


def _named(error: Exception) -> str:
    return str(error) or type(error).__name__
