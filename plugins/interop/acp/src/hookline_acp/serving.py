"""Serves one editor over standard input and output. Imported by the command, because of the SDK."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from acp.agent import AgentSideConnection
from hookline_hookspecs import Host, Inspection

from .agent import Agent
from .asking import Desk
from .feed import Feed
from .link import Link
from .pipes import Pipes
from .sessions import Open
from .unsaved import Unsaved

ENDS = (signal.SIGTERM, signal.SIGINT)


async def serve(host: Host, descriptors: tuple[int, int], mode: str) -> None:
    """Serve the editor behind two descriptors until it closes the first, SIGTERM or SIGINT."""
    for line in host.services[Inspection].plugin_problems():
        sys.stderr.write(f"hookline: warning: {line}\n")
    _log_to_file()
    pipes, opened = Pipes(*descriptors), Open()
    feed = Feed(host, pipes, opened)
    agent = Agent(host, pipes, feed, opened, mode)
    pipes.ending = agent.stop_all
    connection = AgentSideConnection(
        lambda client: agent,  # type: ignore[arg-type, return-value]
        pipes,
        listening=False,
        use_unstable_protocol=True,  # session/resume and session/close, which are stable by now
    )
    link = host.services[Link]
    link.feed, link.desk, link.opened = feed, Desk(connection, feed, opened), opened
    link.unsaved = agent.unsaved = Unsaved(connection, opened)
    for name, receiver in feed.receivers.items():
        host.signals.connect(name, receiver)
    try:
        await _until_signal(connection.listen())
    finally:
        await connection.close()
        for name, receiver in feed.receivers.items():
            host.signals.disconnect(name, receiver)
        link.feed = link.desk = link.opened = link.unsaved = None


def _log_to_file() -> None:
    """What the SDK logs goes to Hookline's log, and not to the screen."""
    root = logging.getLogger()
    if not root.handlers:
        root.handlers[:] = logging.getLogger("hookline").handlers or [logging.NullHandler()]


async def _until_signal(work: Coroutine[Any, Any, None]) -> None:
    """Await ``work``, or cancel it at SIGTERM or SIGINT."""
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    stopped = False

    def stop() -> None:
        nonlocal stopped
        stopped = True
        task.cancel()

    for number in ENDS:
        with suppress(NotImplementedError, RuntimeError):  # not in the main thread
            loop.add_signal_handler(number, stop)
    try:
        await task
    except asyncio.CancelledError:
        if not stopped:
            raise
    finally:
        for number in ENDS:
            with suppress(NotImplementedError, RuntimeError):
                loop.remove_signal_handler(number)
