"""The fake Bot API, and gateways in real processes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import support.gateways
from support.gateways import ECHO, end, opus, png

from .bot_api import TOKEN, BotApi

__all__ = ["ANN", "BOSS", "ECHO", "Gateways", "end", "opus", "png"]
ANN, BOSS = 222, 111
"""People: Ann may write, the boss is admin."""


class Gateways(support.gateways.Gateways):
    """Gateways with Telegram."""

    channel, boss, ann = "telegram", BOSS, ANN

    def settings(self) -> dict[str, Any]:
        urls = {"base_url": self.api.base_url, "base_file_url": self.api.base_file_url}
        return {**urls, "poll_seconds": 1}

    def account(self) -> dict[str, str]:
        return {"TELEGRAM_BOT_TOKEN": TOKEN}


@pytest.fixture
def api() -> Iterator[BotApi]:
    made = BotApi()
    for chat in (ANN, BOSS):
        made.room(chat)
    yield made
    made.close()


@pytest.fixture
def gateways(tmp_path: Path, api: BotApi) -> Iterator[Gateways]:
    made = Gateways(tmp_path, api)
    yield made
    made.close()
    assert TOKEN.partition(":")[2] not in made.said, "the token was shown"
