"""``hookline worker`` and ``hookline cluster status``, as Typer reads them."""

from __future__ import annotations

import asyncio
import json as jsonlib
import os
import signal
import sys
import time
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer
from hookline_hookspecs import GatewayHost, Inspection

if TYPE_CHECKING:
    from .member import Member

INTERRUPTED = 130
CLOSING = 5.0
"""Seconds that plugins and store have after the drain."""


class Commands:
    """The commands."""

    def __init__(self, member: Callable[[], Member]) -> None:
        self._member = member

    def app(self) -> typer.Typer:
        """Return ``status``."""
        app = typer.Typer(no_args_is_help=True)
        app.command()(self.status)
        app.callback()(lambda: None)  # so that `status` is said, though it is the only one
        return app

    async def worker(
        self,
        turns: Annotated[
            int | None, typer.Option(min=1, help="Chats worked on at once, in place of config's.")
        ] = None,
    ) -> None:
        """Work on the messages that gateways store, until SIGTERM or SIGINT."""
        member = self._member()
        config, services = member.config, member.host.services
        core = services[Inspection]
        core.check_model(core.default_model())
        ended = asyncio.Event()
        _listen(ended, config.drain + CLOSING)
        await member.join("worker", turns or config.turns)
        await member.work()
        _tell("ready")
        await ended.wait()
        until = time.monotonic() + config.drain
        await asyncio.gather(member.end(config.drain), member.rest())
        await services[GatewayHost].finish(max(0.0, until - time.monotonic()))
        # Said outright, because returning would wait for background work once more.
        raise SystemExit(0)

    async def status(
        self, json: Annotated[bool, typer.Option("--json", help="JSON.")] = False
    ) -> None:
        """Show the processes that take part, and what waits for them."""
        found = await self._member().status()
        if json:
            sys.stdout.write(jsonlib.dumps(found) + "\n")
            return
        for line in _table(found):
            sys.stdout.write(line + "\n")


def _table(found: dict[str, Any]) -> list[str]:
    lines = []
    for node in found["nodes"]:
        beat = datetime.fromtimestamp(node["beat"]).strftime("%H:%M:%S")
        lines.append(
            f"{node['kind']:<8}  {node['id']}  {node['turns']:>4} chats  {beat}  {node['place']}"
        )
    if not lines:
        lines.append("Nobody is there: start `hookline gateway --no-turns` and `hookline worker`.")
    lines.append(f"{found['waiting']} messages wait, {found['open']} turns are under way.")
    return lines


def _tell(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def _listen(ended: asyncio.Event, seconds: float) -> None:
    """Set ``ended`` at the first signal; end at once at a second one, or after ``seconds``."""
    loop = asyncio.get_running_loop()

    def signalled() -> None:
        if ended.is_set():
            _tell("hookline: ended at once; another worker goes on with what was under way")
            os._exit(INTERRUPTED)
        ended.set()
        loop.call_later(seconds, late)

    def late() -> None:
        _tell(f"hookline: not everything was finished within {seconds:g} s; another worker goes on")
        os._exit(0)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, signalled)
