"""The channel contract, on Discord."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hookline.testing import ChannelContract
from hookline_discord import Discord

from .discord_api import DiscordApi
from .discord_world import ShownMessage


class Discords:
    """The fake Discord, for the channel contract."""

    def __init__(self) -> None:
        self._api = DiscordApi()
        self._last: dict[int, ShownMessage] = {}
        self.config = {"token": self._api.token, "api_url": self._api.api_url, "edit_every": 0.2}

    def say(self, chat: int, text: str) -> None:
        self._last[chat] = self._api.say(1000 + chat, text)

    def repeat(self, chat: int) -> None:
        self._api.tell(self._last[chat])

    def drop(self, times: int) -> None:
        self._api.misbehave("drop", "POST messages", times=times)

    def texts(self, chat: int) -> Sequence[str]:
        return self._api.texts(1000 + chat)

    def close(self) -> None:
        self._api.close()


@pytest.mark.slow
class TestDiscordChannel(ChannelContract):
    plugin = Discord
    platform = Discords
