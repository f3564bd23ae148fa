"""The channel contract, on Slack."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hookline.testing import ChannelContract
from hookline_slack import Slack as Plugin

from .fake_slack import APP_TOKEN, BOT_TOKEN, Slack


class Slacks:
    """The fake Slack, for the channel contract."""

    def __init__(self) -> None:
        self._slack = Slack()
        self._last: dict[int, dict[str, Any]] = {}
        self.config = {
            "bot_token": BOT_TOKEN,
            "app_token": APP_TOKEN,
            "api_url": self._slack.api_url,
        }

    def say(self, chat: int, text: str) -> None:
        self._last[chat] = self._slack.say(f"D{chat:04}", text, f"U{chat:04}")

    def repeat(self, chat: int) -> None:
        self._slack.tell(self._slack.rooms[f"D{chat:04}"], self._last[chat])

    def drop(self, times: int) -> None:
        self._slack.misbehave("drop", "chat.postMessage", times=times)

    def texts(self, chat: int) -> Sequence[str]:
        return self._slack.texts(f"D{chat:04}")

    def close(self) -> None:
        self._slack.close()


@pytest.mark.slow
class TestSlackChannel(ChannelContract):
    plugin = Plugin
    platform = Slacks
