"""The channels of a gateway: started one by one, watched, stopped all at once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from time import monotonic
from typing import Any

from hookline_hookspecs import Channel, HooklineError, Host

from .state import ENDED, STARTING, STOPPED, UP, State
from .telling import tell

log = logging.getLogger("hookline.plugin.gateway")
CHANNEL_UP = "channel_up"
"""The signal that a network channel is up; the event is its name."""
STOP_SECONDS = 5.0
"""That channels have to stop receiving before the drain begins without them."""


class CannotStart(HooklineError):
    """A channel cannot start; the text says which and why."""


class Fleet:
    """The channels that are up."""

    def __init__(self, host: Host, state: State) -> None:
        self._host = host
        self._state = state
        self._up: list[Channel] = []
        self._watching: list[asyncio.Task[None]] = []
        self._told: set[object] = set()

    async def start(self, channels: Sequence[Channel]) -> None:
        """Start every channel and tell that it is up, unless it has told so itself.

        Raises :class:`CannotStart`.
        """
        self._host.signals.connect(CHANNEL_UP, self._heard)
        for channel in channels:
            self._state.channel(channel.name, STARTING)
            self._up.append(channel)  # to be stopped, however far it comes
            try:
                await channel.start()
            except Exception as error:
                why = str(error) or type(error).__name__
                raise CannotStart(f"channel {channel.name} cannot start: {why}") from error
            self._state.channel(channel.name, UP)
            if channel.name not in self._told:
                self._host.signals.send(CHANNEL_UP, channel.name)
            log.info("channel %s is up", channel.name)
            self._watching.append(asyncio.create_task(self._watch(channel)))

    def _heard(self, event: object, ctx: Any = None) -> None:
        self._told.add(event)

    async def _watch(self, channel: Channel) -> None:
        """Tell when a channel ends that nobody has stopped."""
        why = "it has nothing more to receive"
        try:
            await channel.wait()
        except Exception as error:
            why = str(error) or type(error).__name__
        log.error("channel %s has ended: %s", channel.name, why)
        tell(f"hookline: channel {channel.name} has ended: {why}; it is up again after a restart")
        self._state.channel(channel.name, ENDED, reason=why)

    async def stop(self) -> list[asyncio.Task[None]]:
        """Receive nothing more. Those that have not stopped in time are returned, still trying."""
        for task in self._watching:
            task.cancel()
        stops = [asyncio.create_task(self._stop(channel)) for channel in self._up]
        self._up, self._watching = [], []
        pending: set[asyncio.Task[None]] = set()
        if stops:
            _, pending = await asyncio.wait(stops, timeout=STOP_SECONDS)
        return list(pending)

    async def _stop(self, channel: Channel) -> None:
        try:
            await channel.stop()
        except Exception:
            log.exception("channel %s did not stop well", channel.name)
        self._state.channel(channel.name, STOPPED)


async def drained(host: Host, stopping: Sequence[asyncio.Task[None]], seconds: float) -> None:
    """Wait for work that is under way and for channels that still stop, at most this long."""
    until = monotonic() + seconds
    await host.finish(seconds)
    if stopping:
        _, late = await asyncio.wait(stopping, timeout=max(0.0, until - monotonic()))
        for task in late:
            task.cancel()
        await host.finish(max(0.0, until - monotonic()))
