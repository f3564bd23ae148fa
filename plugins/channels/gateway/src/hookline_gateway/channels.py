"""The channels of a gateway: started one by one, watched, and stopped together."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence, Set
from time import monotonic
from typing import Any

from hookline_hookspecs import (
    Channel,
    GatewayHost,
    GatewayService,
    HooklineError,
    Host,
    WorkDistribution,
)

from .console import write_line
from .state import ENDED, STARTING, STOPPED, UP, WAITING, State

log = logging.getLogger("hookline.plugin.gateway")
STOP_TIMEOUT = 5.0
"""Seconds for channels to stop receiving before the drain starts without them."""
HOLD_TIMEOUT = 2.0
"""Seconds to wait for channels before going on without those that other gateways own."""


class CannotStart(HooklineError):
    """A channel cannot start; the text says which and why."""


class ChannelEnded(Exception):
    """A channel ended without being stopped; the text says why."""


class ChannelRunner:
    """Starts, watches and stops the channels, and the services that run beside them."""

    def __init__(self, host: Host, state: State) -> None:
        self._host = host
        self._state = state
        self._up: list[Channel] = []
        self._watching: list[asyncio.Task[None]] = []
        self._services: list[GatewayService] = []

    async def start(self, channels: Sequence[Channel], *, turns: bool = True) -> None:
        """Start every channel that this process owns, then the gateway services; without ``turns``
        not the services that run turns.

        A channel that another gateway owns starts when that one ends. A shared channel starts at
        once; only its replies have an owner. Raises :class:`CannotStart`.
        """
        work = self._host.services[WorkDistribution]
        holds = {one.name: asyncio.create_task(work.hold(one.name)) for one in channels}
        self._watching += holds.values()
        if holds:
            await asyncio.wait(holds.values(), timeout=HOLD_TIMEOUT)
        for channel in channels:
            hold = holds[channel.name]
            if hold.done():
                hold.result()
            if hold.done() or channel.shared:
                await self._start(channel)
            if not hold.done():
                self._watching.append(asyncio.create_task(self._start_later(channel, hold)))
        for service in self._host.services.all(GatewayService):
            if not turns and service.runs_turns:
                continue
            self._services.append(service)
            try:
                await service.gateway_up([channel.name for channel in channels])
            except Exception:
                log.exception("%s failed when the gateway came up", type(service).__name__)

    async def _start(self, channel: Channel) -> None:
        self._state.set_channel(channel.name, STARTING)
        self._up.append(channel)  # stop it even if starting fails half-way
        before = asyncio.all_tasks()
        try:
            await channel.start()
        except Exception as error:
            why = str(error) or type(error).__name__
            raise CannotStart(f"channel {channel.name} cannot start: {why}") from error
        self._state.set_channel(channel.name, UP)
        log.info("channel %s is up", channel.name)
        spawned = _spawned(channel, asyncio.all_tasks() - before)
        self._watching.append(asyncio.create_task(self._watch(channel, spawned)))

    async def _start_later(self, channel: Channel, hold: asyncio.Task[None]) -> None:
        """Start a channel when the gateway that owns it has ended."""
        if not channel.shared:
            self._state.set_channel(channel.name, WAITING)
            write_line(
                f"hookline: another gateway owns channel {channel.name}; waiting for it to end"
            )
        try:
            await hold
            if not channel.shared:
                await self._start(channel)
        except Exception as error:
            write_line(f"hookline: {error}")
            self._state.set_channel(channel.name, ENDED, reason=str(error))
        else:
            write_line(f"hookline: this gateway now owns channel {channel.name}")

    async def _watch(self, channel: Channel, spawned: Set[asyncio.Task[Any]]) -> None:
        """Report a channel that ends without being stopped, or whose background work fails."""
        why = "it stopped receiving"
        ends = [asyncio.ensure_future(channel.wait())]
        if spawned:
            ends.append(asyncio.create_task(_wait_for_end(spawned)))
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            first = next(end for end in ends if end.done())
            why = "its `wait` was cancelled" if first.cancelled() else first.result() or why
        except Exception as error:
            why = str(error) or type(error).__name__
        finally:
            for end in ends:
                end.cancel()
        log.error("channel %s has ended: %s", channel.name, why)
        write_line(f"hookline: channel {channel.name} has ended: {why}. Restart the gateway")
        self._state.set_channel(channel.name, ENDED, reason=why)

    async def stop(self) -> list[asyncio.Task[None]]:
        """Stop receiving. Returns the tasks of channels that have not stopped in time."""
        for task in self._watching:
            task.cancel()
        stops = [asyncio.create_task(self._stop(channel)) for channel in self._up]
        stops += [asyncio.create_task(_end(service)) for service in self._services]
        self._up, self._watching, self._services = [], [], []
        pending: set[asyncio.Task[None]] = set()
        if stops:
            _, pending = await asyncio.wait(stops, timeout=STOP_TIMEOUT)
        return list(pending)

    async def _stop(self, channel: Channel) -> None:
        try:
            await channel.stop()
        except Exception:
            log.exception("channel %s failed to stop", channel.name)
        self._state.set_channel(channel.name, STOPPED)


async def _end(service: GatewayService) -> None:
    try:
        await service.gateway_stopping()
    except Exception:
        log.exception("%s failed to stop", type(service).__name__)


def _spawned(channel: Channel, tasks: Set[asyncio.Task[Any]]) -> Set[asyncio.Task[Any]]:
    """Return the ``tasks`` that the channel's plugin has spawned, known by their names."""
    return {task for task in tasks if task.get_name().startswith(f"{channel.name}:")}


async def _wait_for_end(tasks: Set[asyncio.Task[Any]]) -> None:
    """Wait until all tasks have ended. Raises :class:`ChannelEnded` with the reason."""
    await asyncio.wait(tasks)
    for task in tasks:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            reason = str(error) or type(error).__name__
            raise ChannelEnded(f"its background work {task.get_name()} failed: {reason}")
    names = ", ".join(sorted(task.get_name() for task in tasks))
    raise ChannelEnded(f"its background work {names} has ended")


async def drain_work(host: Host, stopping: Sequence[asyncio.Task[None]], seconds: float) -> None:
    """Wait for running work and stopping channels, at most ``seconds``."""
    until = monotonic() + seconds
    await host.services[GatewayHost].finish(seconds)
    if stopping:
        _, late = await asyncio.wait(stopping, timeout=max(0.0, until - monotonic()))
        for task in late:
            task.cancel()
        await host.services[GatewayHost].finish(max(0.0, until - monotonic()))
