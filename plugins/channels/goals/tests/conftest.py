"""Processes on one home, model replies, and what a person reads."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hookline.testing import Harness
from hookline_goals import Goals
from hookline_hookspecs import GatewayHost, GatewayService, Inbound, Plugin, Reply, hookimpl
from hookline_hookspecs.plugin import NoConfig

T = TypeVar("T")
WAIT = 60.0
"""Seconds until a test gives up; none waits for it to pass."""


def verdict(word: str, reason: str = "because") -> str:
    """What the goal check answers."""
    return json.dumps({"verdict": word, "reason": reason})


class Screen:
    """The channel ``terminal``, as a chat opens it."""

    name, edits, network = "terminal", False, False

    def __init__(self) -> None:
        self.shown: asyncio.Queue[str] = asyncio.Queue()

    async def start(self) -> None:
        """Nothing to open."""

    async def wait(self) -> None:
        await asyncio.Event().wait()

    async def stop(self) -> None:
        """Nothing to close."""

    async def send(self, reply: Reply) -> str | None:
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


class Home:
    """One process on a home."""

    def __init__(self, make: Callable[..., Harness], home: Path, **options: Any) -> None:
        config = {"goals": {"look_every": 0.05, **options.pop("config", {})}}
        plugins = [*options.pop("plugins", ()), Desktop, Goals]
        self.harness = make(*plugins, home=home, config=config, **options)
        self.model = self.harness.model
        self._replies_read = self._typed = 0

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a test's coroutine."""
        return self.harness.run(work)

    @property
    def goals(self) -> Goals:
        """The plugin."""
        return self.harness.plugin(Goals)

    @property
    def prompts(self) -> list[str]:
        """The last message of each request of a turn."""
        found = [r.messages[-1] for r in self.model.requests if r.purpose == "turn"]
        return [message.text for message in found]

    async def gateway(self) -> Home:
        """The channels are up, as `hookline gateway` does it."""
        await self.harness.aopen()
        for work in self.goals.host.services.all(GatewayService):
            await work.gateway_up(["fake"])
        await self.goals.host.services[GatewayHost].recover()
        return self

    async def stop(self) -> None:
        """The process ends."""
        await self.harness.aclose()

    async def say(self, text: str, chat: str = "chat", user: str = "user") -> str:
        """Send a message; return the next message in any chat."""
        await self.harness.channel.say(text, chat=chat, user=user)
        return await self.next_reply()

    async def next_reply(self) -> str:
        """Wait for the next message in any chat of ``fake``, and return its text."""
        self._replies_read += 1
        return (await self.harness.channel.replies(self._replies_read, WAIT))[
            self._replies_read - 1
        ].text

    @property
    def unread(self) -> list[str]:
        """Sent messages that were not read yet."""
        return [reply.text for reply in self.harness.channel.sent[self._replies_read :]]

    async def type(self, text: str) -> str:
        """Send a message in `hookline chat`; return the reply."""
        await self.harness.aopen()
        self._typed += 1
        id_ = f"typed-{id(self)}-{self._typed}"
        await self.goals.host.receive(
            Inbound("terminal", "default", "ann", id_, text, session_id="chatting", private=True)
        )
        return await self.shown()

    async def shown(self) -> str:
        """What the terminal shows next."""
        async with asyncio.timeout(WAIT):
            return await self.harness.plugin(Desktop).screen.shown.get()

    @staticmethod
    async def until(true: Callable[[], Any]) -> None:
        """Wait until the condition holds."""
        async with asyncio.timeout(WAIT):
            while not true():
                await asyncio.sleep(0.005)


@pytest.fixture
def make_home(harness: Callable[..., Harness], tmp_path: Path) -> Callable[..., Home]:
    """Makes processes on one home."""

    def make(**options: Any) -> Home:
        options.setdefault("workspace", tmp_path / "workspace")
        return Home(harness, tmp_path / "home", **options)

    return make
