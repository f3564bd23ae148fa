"""Run the turns for messages that gateways receive.

``hookline worker``.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer
from hookline_hookspecs import GatewayHost, Inspection
from hookline_hookspecs.cli import with_plugin

if TYPE_CHECKING:
    from ..plugin import ClusterPlugin

INTERRUPTED = 130
CLOSE_TIMEOUT = 5.0
"""Seconds that plugins and store have to close after the drain."""


@with_plugin
async def worker(
    plugin: ClusterPlugin,
    turns: Annotated[
        int | None,
        typer.Option(min=1, help="Maximum number of turns at once. Overrides the config."),
    ] = None,
) -> None:
    """Run the turns for messages that gateways receive, until stopped."""
    member = plugin.member
    config, services = member.config, member.host.services
    core = services[Inspection]
    core.check_model(core.default_model())
    ended = asyncio.Event()
    _install_signal_handlers(ended, config.drain + CLOSE_TIMEOUT)
    await member.join("worker", turns or config.turns)
    await member.start_services()
    _print_error("ready")
    await ended.wait()
    until = time.monotonic() + config.drain
    await asyncio.gather(member.end(config.drain), member.stop_services())
    await services[GatewayHost].finish(max(0.0, until - time.monotonic()))
    # Explicit, because returning would wait for background work again.
    raise SystemExit(0)


def _print_error(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def _install_signal_handlers(ended: asyncio.Event, seconds: float) -> None:
    """Set ``ended`` at the first signal; exit at a second one, or after ``seconds``."""
    loop = asyncio.get_running_loop()

    def on_signal() -> None:
        if ended.is_set():
            _print_error("hookline: stopped at once; another worker resumes the open turns")
            os._exit(INTERRUPTED)
        ended.set()
        loop.call_later(seconds, on_timeout)

    def on_timeout() -> None:
        _print_error(f"hookline: open turns after {seconds:g} s; another worker resumes them")
        os._exit(0)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_signal)
