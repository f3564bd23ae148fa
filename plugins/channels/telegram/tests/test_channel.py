"""The channel contract, on Telegram."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hookline.testing import ChannelContract
from hookline_telegram import Telegram

from .bot_api import TOKEN, BotApi


class Telegrams:
    """The fake Bot API, for the channel contract."""

    def __init__(self) -> None:
        self._api = BotApi()
        self._last: dict[int, dict[str, Any]] = {}
        self.config = {
            "token": TOKEN,
            "base_url": self._api.base_url,
            "base_file_url": self._api.base_file_url,
            "poll_seconds": 1,
            "edit_every": 0.2,
        }

    def say(self, chat: int, text: str) -> None:
        self._last[chat] = self._api.say(1000 + chat, text)

    def repeat(self, chat: int) -> None:
        self._api.deliver("message", self._last[chat])

    def drop(self, times: int) -> None:
        self._api.misbehave("drop", "sendMessage", times=times)

    def texts(self, chat: int) -> Sequence[str]:
        return self._api.texts(1000 + chat)

    def close(self) -> None:
        self._api.close()


@pytest.mark.slow
class TestTelegramChannel(ChannelContract):
    plugin = Telegram
    platform = Telegrams
    finds = False
