"""The life of a gateway: start the channels, recover work, run until a signal, drain."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from time import monotonic
from typing import Any

from filelock import BaseFileLock, Timeout
from hookline_hookspecs import (
    Channel,
    GatewayHost,
    GatewayService,
    HooklineError,
    Host,
    Inspection,
    WorkDistribution,
)
from hookline_hookspecs.errors import ConfigError
from hookline_hookspecs.process_lock import gateway_lock

from . import state as states
from .access_check import has_access, require_access, warn_open
from .channels import CannotStart, ChannelRunner, drain_work
from .console import EXIT_USAGE, exit_with, write_line
from .state import State
from .systemd import READY, STOPPING, Notifier

RECOVERY_INTERVAL = 120.0
"""Seconds between two checks for unfinished work."""
ACCESS_CHECK_INTERVAL = 15.0
"""Seconds between two checks that a plugin still decides who may write."""


async def serve(
    host: Host,
    channels: Sequence[Channel],
    drain: float,
    ended: Callable[[], Awaitable[object]],
    *,
    turns: bool = True,
) -> None:
    """Run ``channels`` until ``ended()`` returns, then drain for ``drain`` seconds at most.

    Prints ``ready`` to stderr when all are up. Raises ``SystemExit`` if one cannot start.
    """
    notifier = Notifier()
    state = State(host.home, notifier)
    runner = ChannelRunner(host, state)
    end = asyncio.ensure_future(ended())
    background = (
        state.write_heartbeats(),
        _watch_access(host, channels),
        _recover_periodically(host),
    )
    tasks = [asyncio.create_task(work) for work in background]
    try:
        up = _start_all(host, runner, channels, state, notifier, turns=turns)
        if await _started_first(asyncio.ensure_future(up), end):
            await end
    except CannotStart as error:
        exit_with(str(error))
    finally:
        until = monotonic() + (drain if end.done() else 0.0)
        notifier.send(STOPPING)
        state.set_state(states.STOPPING)
        stopping = await runner.stop()
        await drain_work(host, stopping, max(0.0, until - monotonic()))
        for task in (*tasks, end):
            task.cancel()
        state.set_state(states.STOPPED)


def lock_home(home: Path) -> BaseFileLock:
    """Acquire the home's lock; the system releases it when the process dies.

    Raises ``SystemExit`` if another gateway holds it.
    """
    lock = gateway_lock(home)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        exit_with(f"another gateway is running on {home}; stop it first, or use another --home")
    return lock


async def checked_channels(host: Host, *, turns: bool, needs_model: bool) -> list[Channel]:
    """Return the enabled network channels. Without ``turns`` other processes must run the turns.

    Raises ``SystemExit`` if there is nothing to run, no model is configured, or ``access`` should
    decide who may write and cannot.
    """
    core = host.services[Inspection]
    if turns:
        _check_model(core, needs_model)
    plugins = await core.plugins()
    for row in plugins:
        if row["state"] in ("failed", "missing"):
            write_line(f"hookline: warning: plugin {row['name']} is not on: {row['reason']}")
        for warning in row.get("warnings", ()):
            write_line(f"hookline: warning: {warning}")
    if not turns and not host.services[WorkDistribution].is_shared:
        exit_with(
            "--no-turns needs the plugin cluster and a worker that runs the turns; set "
            "`cluster: true` under plugins: and `store: postgresql://…` in config.yaml",
            EXIT_USAGE,
        )
    channels = [channel for channel in host.channels() if channel.network]
    if not channels and not any(
        work.needs_no_channel for work in host.services.all(GatewayService)
    ):
        exit_with(
            "no channel is on; run `hookline plugins enable telegram` (or discord, slack, feishu, "
            "webhook, web-ui), or `hookline init`, which asks for a token",
            EXIT_USAGE,
        )
    if channels:
        require_access(host, plugins, [channel.name for channel in channels])
    return channels


def _check_model(core: Inspection, is_required: bool) -> None:
    """Check that the model can be used; without one, warn unless it ``is_required``.

    Raises ``HooklineError``.
    """
    try:
        model = core.default_model()
    except ConfigError as error:
        if is_required:
            raise
        write_line(f"hookline: warning: {error}")
        return
    core.check_model(model)


async def _start_all(
    host: Host,
    runner: ChannelRunner,
    channels: Sequence[Channel],
    state: State,
    notifier: Notifier,
    *,
    turns: bool,
) -> None:
    """Recover the work of a dead process, start the channels, and report ready."""
    await host.services[WorkDistribution].serve(turns)
    # First, so that new messages queue behind those that were acknowledged before.
    await host.services[GatewayHost].recover()
    await runner.start(channels, turns=turns)
    state.set_state(states.READY)
    names = ", ".join(channel.name for channel in channels)
    notifier.send(READY, f"STATUS=Up: {names}")
    write_line("ready")


async def _started_first(start: asyncio.Future[None], end: asyncio.Future[Any]) -> bool:
    """Return True once ``start`` is done; if ``end`` comes first, cancel it and return False."""
    await asyncio.wait({start, end}, return_when=asyncio.FIRST_COMPLETED)
    if start.done():
        start.result()
        return True
    start.cancel()
    await asyncio.wait({start}, timeout=1.0)
    return False


async def _recover_periodically(host: Host) -> None:
    """Periodically recover work left by a failed store or another process."""
    while True:
        await asyncio.sleep(RECOVERY_INTERVAL)
        try:
            await host.services[GatewayHost].recover()
        except HooklineError as error:
            host.log.warning("cannot look for unfinished work: %s", error)


async def _watch_access(host: Host, channels: Sequence[Channel]) -> None:
    """Warn if the plugin that decides who may write is switched off."""
    is_guarded = has_access(host)
    while is_guarded:
        await asyncio.sleep(ACCESS_CHECK_INTERVAL)
        is_guarded = has_access(host)
        if not is_guarded:
            warn_open([channel.name for channel in channels])
