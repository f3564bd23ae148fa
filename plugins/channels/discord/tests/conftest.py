"""The fake Discord, and gateways in real processes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import support.gateways
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
