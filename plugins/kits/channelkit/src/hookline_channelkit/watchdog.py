"""Detects silently dead connections with a probe, and reconnects."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReconnectPolicy:
    """Times in seconds.

    With the defaults a dead connection is replaced within 90 s: 30 of silence, 10 for the probe, 10
    to disconnect, 30 to connect, and a pause between.

    Args:
        idle_timeout: silence after which the connection is probed.
        probe_timeout: timeout of a probe, and of disconnecting.
        connect_timeout: timeout of connecting.
        min_backoff: pause before the second attempt to reconnect, doubled for each one after it.
        max_backoff: maximum pause between two attempts.
    """

    idle_timeout: float = 30.0
    probe_timeout: float = 10.0
    connect_timeout: float = 30.0
    max_backoff: float = 30.0
    min_backoff: float = 1.0


class Watchdog:
    """Reconnects when the connection is dead.

    Args:
        probe: raises if the platform does not answer or receiving has stopped.
        disconnect: stops receiving.
        connect: starts receiving.
        log: logs reconnects.
        policy: the timeouts.
    """

    def __init__(
        self,
        probe: Callable[[], Awaitable[None]],
        disconnect: Callable[[], Awaitable[None]],
        connect: Callable[[], Awaitable[None]],
        log: logging.Logger,
        policy: ReconnectPolicy | None = None,
    ) -> None:
        self._probe, self._disconnect, self._connect = probe, disconnect, connect
        self._log = log
        self._policy = policy or ReconnectPolicy()
        self._last_heartbeat = 0.0
        self._reconnected_at = float("-inf")
        self._backoff = 0.0
        self._reason: str | None = None
        self._wake = asyncio.Event()

    def heartbeat(self) -> None:
        """Record that the connection is alive."""
        self._last_heartbeat = asyncio.get_running_loop().time()

    def disconnected(self, reason: str) -> None:
        """Record that the connection is dead."""
        self._reason = reason
        self._wake.set()

    async def run(self) -> None:
        """Watch until cancelled."""
        self.heartbeat()
        while True:
            now = asyncio.get_running_loop().time()
            left = max(0.0, self._last_heartbeat + self._policy.idle_timeout - now)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._wake.wait()
            reason = self._take_reason() or await self._probe_if_idle()
            if reason:
                await self._reconnect(reason)

    def _take_reason(self) -> str | None:
        reason, self._reason = self._reason, None
        self._wake.clear()
        return reason

    async def _probe_if_idle(self) -> str | None:
        """Return why the connection is dead, or None."""
        now = asyncio.get_running_loop().time()
        if now < self._last_heartbeat + self._policy.idle_timeout:
            return None
        try:
            async with asyncio.timeout(self._policy.probe_timeout):
                await self._probe()
        except Exception as error:
            return f"no answer to a probe ({_text_of(error)})"
        self.heartbeat()
        return None

    async def _reconnect(self, reason: str) -> None:
        """Try until connected. If the last connection broke soon, the backoff continues."""
        loop = asyncio.get_running_loop()
        if loop.time() - self._reconnected_at > 2 * self._policy.max_backoff:
            self._backoff = 0.0
        while True:
            self._log.warning("reconnecting: %s", reason)
            await self._attempt("disconnect", self._disconnect(), self._policy.probe_timeout)
            await asyncio.sleep(self._backoff)
            self._backoff = min(
                max(self._backoff * 2, self._policy.min_backoff), self._policy.max_backoff
            )
            self._take_reason()
            error = await self._attempt("connect", self._connect(), self._policy.connect_timeout)
            if error is None:
                self._log.warning("connected again")
                self._reconnected_at = loop.time()
                self.heartbeat()
                return
            reason = f"cannot connect ({error})"

    async def _attempt(self, what: str, work: Awaitable[None], seconds: float) -> str | None:
        """Return the error, or None."""
        try:
            async with asyncio.timeout(seconds):
                await work
        except Exception as error:
            self._log.warning("cannot %s: %s", what, _text_of(error))
            return _text_of(error)
        return None


def _text_of(error: Exception) -> str:
    return str(error) or type(error).__name__
