"""The channels of a gateway: started one by one, watched, stopped all at once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence, Set
from time import monotonic
from typing import Any

from hookline_hookspecs import Channel, Division, GatewayHost, GatewayWork, HooklineError, Host

from .state import ENDED, STARTING, STOPPED, UP, WAITING, State
from .telling import tell

log = logging.getLogger("hookline.plugin.gateway")
STOP_SECONDS = 5.0
"""That channels have to stop receiving before the drain begins without them."""


HOLD_SECONDS = 2.0
"""That a gateway waits for its channels before it stands by for those that others own."""


def is_shared(channel: Channel) -> bool:
    """True for a channel that several gateways may receive for at once, such as a listener."""
    return bool(getattr(channel, "shared", False))


class CannotStart(HooklineError):
    """A channel cannot start; the text says which and why."""


class Over(Exception):
    """A channel's work is over although nobody has stopped it; the text says how."""


class Fleet:
    """The channels that are up."""

    def __init__(self, host: Host, state: State) -> None:
        self._host = host
        self._state = state
        self._up: list[Channel] = []
        self._watching: list[asyncio.Task[None]] = []
        self._works: list[GatewayWork] = []

    async def start(self, channels: Sequence[Channel], *, turns: bool = True) -> None:
        """Start every channel and tell that it is up, unless it has told so itself. Without
        ``turns``, leave out work that runs some.

        Raises :class:`CannotStart`.
        """
        if (division := self._host.services.get(Division)) is None:
            for channel in channels:
                await self._start(channel)
        else:
            await self._start_owned(channels, division)
        for work in self._host.services.all(GatewayWork):
            if not turns and getattr(work, "runs_turns", False):
                continue
            self._works.append(work)
            try:
                await work.gateway_up([channel.name for channel in channels])
            except Exception:
                log.exception("%s did not take note of the gateway", type(work).__name__)

    async def _start(self, channel: Channel) -> None:
        self._state.channel(channel.name, STARTING)
        self._up.append(channel)  # to be stopped, however far it comes
        before = asyncio.all_tasks()
        try:
            await channel.start()
        except Exception as error:
            why = str(error) or type(error).__name__
            raise CannotStart(f"channel {channel.name} cannot start: {why}") from error
        self._state.channel(channel.name, UP)
        log.info("channel %s is up", channel.name)
        spawned = _spawned(channel, asyncio.all_tasks() - before)
        self._watching.append(asyncio.create_task(self._watch(channel, spawned)))

    async def _start_owned(self, channels: Sequence[Channel], division: Division) -> None:
        """Start each channel once it is this process's own; those that another gateway owns wait
        for its end. A shared one is started at once, and only its replies have an owner."""
        for channel in channels:
            if is_shared(channel):
                await self._start(channel)
        holding = {
            asyncio.create_task(self._hold(channel, division)): channel for channel in channels
        }
        self._watching += holding
        ready, waiting = await asyncio.wait(holding, timeout=HOLD_SECONDS) if holding else ((), ())
        for task in ready:
            task.result()
        for task in waiting:
            channel = holding[task]
            task.add_done_callback(lambda task, name=channel.name: self._late(task, name))
            if not is_shared(channel):
                self._state.channel(channel.name, WAITING)
                tell(f"hookline: channel {channel.name} is another gateway's; waiting for its end")

    async def _hold(self, channel: Channel, division: Division) -> None:
        await division.hold(channel.name)
        if not is_shared(channel):
            await self._start(channel)

    def _late(self, task: asyncio.Task[None], name: str) -> None:
        """A channel that had waited is up, or failed."""
        if task.cancelled():
            return
        if (error := task.exception()) is not None:
            tell(f"hookline: {error}")
            self._state.channel(name, ENDED, reason=str(error))
        else:
            tell(f"hookline: channel {name} is this gateway's now")

    async def _watch(self, channel: Channel, spawned: Set[asyncio.Task[Any]]) -> None:
        """Tell when a channel ends that nobody has stopped: it says so, or its work is over."""
        why = "it has nothing more to receive"
        ends = [asyncio.ensure_future(channel.wait())]
        if spawned:
            ends.append(asyncio.create_task(_over(spawned)))
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
        tell(f"hookline: channel {channel.name} has ended: {why}; it is up again after a restart")
        self._state.channel(channel.name, ENDED, reason=why)

    async def stop(self) -> list[asyncio.Task[None]]:
        """Receive nothing more. Those that have not stopped in time are returned, still trying."""
        for task in self._watching:
            task.cancel()
        stops = [asyncio.create_task(self._stop(channel)) for channel in self._up]
        stops += [asyncio.create_task(_end(work)) for work in self._works]
        self._up, self._watching, self._works = [], [], []
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


async def _end(work: GatewayWork) -> None:
    try:
        await work.gateway_stopping()
    except Exception:
        log.exception("%s did not stop well", type(work).__name__)


def _spawned(channel: Channel, tasks: Set[asyncio.Task[Any]]) -> Set[asyncio.Task[Any]]:
    """Those of ``tasks`` that the channel's plugin runs by ``host.spawn``, known by their names."""
    return {task for task in tasks if task.get_name().startswith(f"{channel.name}:")}


async def _over(tasks: Set[asyncio.Task[Any]]) -> None:
    """Wait until none of the tasks lives. Raises :class:`Over` with how they ended."""
    await asyncio.wait(tasks)
    for task in tasks:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            told = str(error) or type(error).__name__
            raise Over(f"its background work {task.get_name()} failed: {told}")
    names = ", ".join(sorted(task.get_name() for task in tasks))
    raise Over(f"its background work {names} is over")


async def drained(host: Host, stopping: Sequence[asyncio.Task[None]], seconds: float) -> None:
    """Wait for work that is under way and for channels that still stop, at most this long."""
    until = monotonic() + seconds
    await host.services[GatewayHost].finish(seconds)
    if stopping:
        _, late = await asyncio.wait(stopping, timeout=max(0.0, until - monotonic()))
        for task in late:
            task.cancel()
        await host.services[GatewayHost].finish(max(0.0, until - monotonic()))
