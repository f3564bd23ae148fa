"""The gateway's life: one of them for each home, channels up, work taken up, drained."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from time import monotonic
from typing import Any

from hookline_hookspecs import (
    Channel,
    GatewayHost,
    GatewayService,
    HooklineError,
    Host,
    Inspection,
    WorkDistribution,
)

from . import state as states
from .channels import CannotStart, Fleet, drained
from .guarded import is_guarded, make_sure, tell_open
from .notify import READY, STOPPING, Notifier
from .state import State
from .telling import USAGE, stop, tell

TEND = 120.0
"""Seconds between two looks for what was left undone, and for what can be forgotten."""
LOOK = 15.0
"""Seconds between two looks at whether a plugin still decides who may write."""


async def serve(
    host: Host,
    channels: Sequence[Channel],
    drain: float,
    ended: Callable[[], Awaitable[object]],
    *,
    turns: bool = True,
) -> None:
    """Run ``channels`` until ``ended()`` returns, then drain for ``drain`` seconds at most.

    Prints ``ready`` to stderr when all of them are up. Ends with ``SystemExit`` where one cannot
    start.
    """
    notifier = Notifier()
    state = State(host.home, notifier)
    fleet = Fleet(host, state)
    end = asyncio.ensure_future(ended())
    beside = (state.beat(), _look(host, channels), _tend(host))
    around = [asyncio.create_task(work) for work in beside]
    try:
        up = _up(host, fleet, channels, state, notifier, turns=turns)
        if await _first(asyncio.ensure_future(up), end):
            await end
    except CannotStart as error:
        stop(str(error))
    finally:
        until = monotonic() + (drain if end.done() else 0.0)
        notifier.send(STOPPING)
        state.become(states.STOPPING)
        stopping = await fleet.stop()
        await drained(host, stopping, max(0.0, until - monotonic()))
        for task in (*around, end):
            task.cancel()
        state.become(states.STOPPED)


async def checked_channels(host: Host, *, turns: bool = True) -> list[Channel]:
    """The network channels that are on.

    Without ``turns`` other processes have to work on messages.

    Ends with ``SystemExit`` where there is nothing to run, no model is configured, or nobody
    decides who may write although config wants it.
    """
    core = host.services[Inspection]
    if turns:
        core.check_model(core.default_model())
    plugins = await core.plugins()
    for row in plugins:
        if row["state"] in ("failed", "missing"):
            tell(f"hookline: warning: plugin {row['name']} is not on: {row['reason']}")
        for warning in row.get("warnings", ()):
            tell(f"hookline: warning: {warning}")
    if not turns and not host.services[WorkDistribution].is_shared:
        stop(
            "--no-turns needs the plugin cluster, so that a worker does them; set `cluster: true` "
            "under plugins: and `store: postgresql://…` in config.yaml",
            USAGE,
        )
    channels = [channel for channel in host.channels() if channel.network]
    if not channels and not any(
        work.needs_no_channel for work in host.services.all(GatewayService)
    ):
        stop(
            "no channel is on; `hookline plugins enable telegram` switches one on (or discord, "
            "slack, feishu, webhook, web-ui), `hookline init` asks for its token",
            USAGE,
        )
    if channels:
        make_sure(host, plugins, [channel.name for channel in channels])
    return channels


async def _up(
    host: Host,
    fleet: Fleet,
    channels: Sequence[Channel],
    state: State,
    notifier: Notifier,
    *,
    turns: bool,
) -> None:
    """Start everything, go on with what a dead process left, and say so."""
    await host.services[WorkDistribution].serve(turns)
    # First: what comes in while the channels start stands behind what was acknowledged before.
    await host.services[GatewayHost].recover()
    await fleet.start(channels, turns=turns)
    state.become(states.READY)
    names = ", ".join(channel.name for channel in channels)
    notifier.send(READY, f"STATUS=Up: {names}")
    tell("ready")


async def _first(start: asyncio.Future[None], end: asyncio.Future[Any]) -> bool:
    """True when it has started; False if it was to end before, and then it is not started."""
    await asyncio.wait({start, end}, return_when=asyncio.FIRST_COMPLETED)
    if start.done():
        start.result()
        return True
    start.cancel()
    await asyncio.wait({start}, timeout=1.0)
    return False


async def _tend(host: Host) -> None:
    """Take up now and then what a store that failed, or another process, has left."""
    while True:
        await asyncio.sleep(TEND)
        try:
            await host.services[GatewayHost].recover()
        except HooklineError as error:
            host.log.warning("what was left undone cannot be looked for: %s", error)


async def _look(host: Host, channels: Sequence[Channel]) -> None:
    """Warn if the plugin that decides who may write is switched off meanwhile."""
    guarded = is_guarded(host)
    while guarded:
        await asyncio.sleep(LOOK)
        guarded = is_guarded(host)
        if not guarded:
            tell_open([channel.name for channel in channels])
