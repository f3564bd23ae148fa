"""The gateway's life: one of them for each home, channels up, work taken up, drained."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, NoReturn

from filelock import FileLock, Timeout
from hookline_hookspecs import Channel, Host, Inspection

FAILED, USAGE = 1, 2
"""Exit codes (CONTRACT, Command line)."""


async def serve(host: Host, drain: float, ended: Callable[[], Awaitable[Any]]) -> None:
    """Run every network channel until ``ended()`` returns.

    Prints ``ready`` to stderr when all of them are up. Ends with ``SystemExit`` where no channel
    is on, no model is configured, a channel cannot start, or another gateway runs on this home.
    """
    core = host.services[Inspection]  # type: ignore[type-abstract]
    core.check_model(core.default_model())
    for row in await core.plugins():
        if row["state"] in ("failed", "missing"):
            _tell(f"hookline: warning: plugin {row['name']} is not on: {row['reason']}")
    channels = [channel for channel in host.channels() if channel.network]
    if not channels:
        _stop("no channel is on; switch one on under plugins: in config.yaml", USAGE)
    async with _alone(host), _started(channels):
        _tell("ready")
        await host.take_up()
        await ended()
    await host.finish(drain)


@asynccontextmanager
async def _alone(host: Host) -> AsyncIterator[None]:
    """Hold the home's lock, which the system frees when the process dies."""
    path = host.home / "gateway.lock"
    lock = FileLock(path, mode=0o600)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        _stop(f"another gateway runs on {host.home}; stop it first, or choose another --home")
    try:
        yield
    finally:
        lock.release()


@asynccontextmanager
async def _started(channels: list[Channel]) -> AsyncIterator[None]:
    """Channels that are up; those that were started are stopped, whatever happens."""
    up: list[Channel] = []
    try:
        for channel in channels:
            try:
                await channel.start()
            except Exception as error:
                _stop(f"channel {channel.name} cannot start: {error or type(error).__name__}")
            up.append(channel)
        yield
    finally:
        for channel in up:
            await channel.stop()


async def until_signal() -> None:
    """Return at SIGTERM or SIGINT."""
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    await ended.wait()


def _tell(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def _stop(text: str, code: int = FAILED) -> NoReturn:
    _tell(f"hookline: {text}")
    raise SystemExit(code)
