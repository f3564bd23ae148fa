"""A gateway and a chat around the scheduler, with a clock that the test sets."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hookline import testing
from hookline.testing import Harness
from hookline_hookspecs import GatewayHost, GatewayService, Inbound, Plugin, Reply, Turn, hookimpl
from hookline_hookspecs.plugin import NoConfig
from hookline_scheduler import Scheduler

T = TypeVar("T")
WAIT = 30.0
"""Seconds to wait for what must come; nothing is ever waited for that must not."""


class Clock:
    """The clock of the test kit, set by a text."""

    def __init__(self, clock: testing.Clock) -> None:
        self._clock = clock
        self.set("2026-11-22T10:00Z")

    @property
    def now(self) -> float:
        """What ``host.now()`` says."""
        return self._clock.now()

    def set(self, text: str) -> None:
        """The time it is now."""
        self._clock.stop(datetime.fromisoformat(text).timestamp())

    def move(self, **lengths: float) -> None:
        """Let it go forward, or back."""
        units = {"seconds": 1, "minutes": 60, "hours": 3600, "days": 86_400}
        later = sum(units[name] * count for name, count in lengths.items())
        self._clock.stop(self.now + later)


class Screen:
    """The channel ``terminal``, as a chat opens it."""

    name, edits, network = "terminal", False, False

    def __init__(self) -> None:
        self.shown: asyncio.Queue[str] = asyncio.Queue()
        self.open = False

    async def start(self) -> None:
        self.open = True

    async def wait(self) -> None:
        await asyncio.Event().wait()

    async def stop(self) -> None:
        self.open = False

    async def send(self, reply: Reply) -> str | None:
        if not self.open:
            raise RuntimeError("no chat is open")
        self.shown.put_nowait(reply.text)
        return None


class Desktop(Plugin[NoConfig]):
    """Registers the terminal's channel."""

    screen: Screen

    @hookimpl
    def setup(self, host: Any) -> None:
        self.screen = Screen()

    @hookimpl
    def register_channels(self, register: Any) -> None:
        register(self.screen)


class Turns(Plugin[NoConfig]):
    """Records the turns of jobs, and can delay them."""

    def __init__(self, config: NoConfig, host: Any) -> None:
        super().__init__(config, host)
        self.begun: list[Turn] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.arrived = asyncio.Event()

    @hookimpl
    async def start_of_turn(self, ctx: Any, turn: Turn) -> None:
        if turn.session.kind == "schedule":
            self.begun.append(turn)
            self.arrived.set()
            await self.gate.wait()


class Home:
    """One process on a home: the scheduler, the channels, and what a person does."""

    def __init__(self, make: Callable[..., Harness], home: Path, **options: Any) -> None:
        config = {"scheduler": {"look_every": 0.02, "timezone": "UTC", **options.pop("config", {})}}
        plugins = [*options.pop("plugins", ()), Turns, Desktop, Scheduler]
        options.setdefault("deadlines", {"start_of_turn": None})
        self.harness = make(*plugins, home=home, config=config, **options)
        self.model = self.harness.model
        self._replies_read = 0
        self._messages = 0

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a test's coroutine."""
        return self.harness.run(work)

    @property
    def scheduler(self) -> Scheduler:
        """The plugin."""
        return self.harness.plugin(Scheduler)

    @property
    def turns(self) -> Turns:
        """The turns of jobs so far."""
        return self.harness.plugin(Turns)

    @property
    def prompts(self) -> list[str]:
        """What the jobs were run with."""
        return [turn.inbound.text for turn in self.turns.begun]

    @property
    def screen(self) -> Screen:
        """The terminal."""
        return self.harness.plugin(Desktop).screen

    async def gateway(self) -> Home:
        """The channels are up, as `hookline gateway` does it."""
        await self.harness.aopen()
        for work in self.scheduler.host.services.all(GatewayService):
            await work.gateway_up(["fake"])
        await self.scheduler.host.services[GatewayHost].recover()
        return self

    async def stop(self) -> None:
        """The gateway ends, as at SIGTERM."""
        for work in self.scheduler.host.services.all(GatewayService):
            await work.gateway_stopping()
        await self.harness.aclose()

    async def say(self, text: str, chat: str = "chat", user: str = "user") -> str:
        """Send a message in a chat of the channel ``fake``; return the reply."""
        await self.harness.aopen()
        await self.harness.channel.say(text, chat=chat, user=user)
        return await self.next_reply()

    async def next_reply(self) -> str:
        """Wait for the next message in any chat of ``fake``, and return its text."""
        self._replies_read += 1
        return (await self.harness.channel.replies(self._replies_read, WAIT))[
            self._replies_read - 1
        ].text

    async def type(self, text: str) -> str:
        """Send a message in `hookline chat`; return the reply."""
        await self.harness.aopen()
        await self.screen.start()
        self._messages += 1
        id_ = f"typed-{id(self)}-{self._messages}"
        await self.scheduler.host.receive(
            Inbound("terminal", "default", "ann", id_, text, session_id="chatting")
        )
        return await self.shown()

    async def shown(self) -> str:
        """What the terminal shows next."""
        async with asyncio.timeout(WAIT):
            return await self.screen.shown.get()

    async def look(self) -> None:
        """Look for due work, and wait until all runs have ended."""
        runner = self.scheduler.runner
        await runner.check_due_jobs()
        await self.until(lambda: not runner.busy)

    @staticmethod
    async def until(true: Callable[[], Any]) -> None:
        """Wait until the condition holds."""
        async with asyncio.timeout(WAIT):
            while not true():
                await asyncio.sleep(0.005)

    @staticmethod
    async def added(answer: Awaitable[str]) -> str:
        """The id in the answer to ``/schedule add``."""
        text = await answer
        assert text.startswith("Job "), text
        return text.split()[1].rstrip(":")


@pytest.fixture
def clock(clock: testing.Clock) -> Clock:
    """The clock of every process in the test."""
    return Clock(clock)


@pytest.fixture
def make_home(harness: Callable[..., Harness], tmp_path: Path, clock: Clock) -> Callable[..., Home]:
    """Makes processes on one home."""

    def make(**options: Any) -> Home:
        options.setdefault("workspace", tmp_path / "workspace")
        return Home(harness, tmp_path / "home", **options)

    return make
