"""The fake Discord, and gateways in real processes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import support.gateways
from hookline.testing import Harness
from hookline_discord import Discord
from hookline_hookspecs import Attachment, Audio, Reply, Session
from support.gateways import ECHO, end, opus, png

from .discord_api import DiscordApi

__all__ = ["ANN", "BOSS", "ECHO", "Gateways", "end", "opus", "png"]
ANN, BOSS = 222_000_000_000_000_222, 111_000_000_000_000_111
"""People: Ann may write, the boss is admin."""


class Gateways(support.gateways.Gateways):
    """Gateways with Discord."""

    channel, boss, ann = "discord", BOSS, ANN

    def settings(self) -> dict[str, Any]:
        return {"api_url": self.api.api_url}

    def account(self) -> dict[str, str]:
        return {"DISCORD_BOT_TOKEN": self.api.token}


@pytest.fixture
def api() -> Iterator[DiscordApi]:
    made = DiscordApi()
    yield made
    made.close()
    assert made.world.pings == []
    assert made.world.fetched == []


@pytest.fixture
def gateways(tmp_path: Path, api: DiscordApi) -> Iterator[Gateways]:
    made = Gateways(tmp_path, api)
    yield made
    made.close()
    assert api.token.rpartition(".")[2] not in made.said, "the token was shown"


class Talk:
    """The channel in a real core, and who writes to it."""

    def __init__(
        self, make: Callable[..., Harness], api: DiscordApi, *more: Any, **config: Any
    ) -> None:
        self.api = api
        settings = {"token": api.token, "api_url": api.api_url, **config}
        self.harness = make(Discord, *more, config={"discord": settings})
        self.channel: Any = self.harness.runtime.channels.get("discord")
        self.harness.run(self.channel.start())

    def ask(self, *answers: Any) -> None:
        """What the model says next."""
        self.harness.model.steps.extend(answers)

    def do(self, work: Callable[..., Any], *args: Any) -> Any:
        """Run something that waits, while core works."""
        return self.harness.run(asyncio.to_thread(work, *args))

    def send(self, chat: int, *items: Attachment | Audio, text: str = "") -> Any:
        """Send a reply with files through core's outbox."""
        session = Session("s", "discord", str(chat), None, 0.0)
        reply = Reply(session, text, items, id=f"r{len(self.api.calls)}")
        return self.harness.run(self.channel.send(reply))


@pytest.fixture
def talk(harness: Callable[..., Harness], api: DiscordApi) -> Iterator[Callable[..., Talk]]:
    made: list[Talk] = []

    def make(*more: Any, **config: Any) -> Talk:
        made.append(Talk(harness, api, *more, **config))
        return made[-1]

    yield make
    for one in made:
        one.harness.run(one.channel.stop())
