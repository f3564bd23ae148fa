"""The channel contract, on Feishu."""

from __future__ import annotations

import html
from collections.abc import Sequence

import pytest
from hookline.testing import ChannelContract
from hookline_feishu import Feishu as Plugin

from .contents import Message
from .feishu import Feishu
from .open_api import Fault
from .service import APP, SECRET


class Feishus:
    """The fake Feishu, for the channel contract."""

    def __init__(self) -> None:
        self._feishu = Feishu()
        self._feishu.pushes.again = (2.0, 4.0, 8.0, 16.0, 32.0)
        self._last: dict[int, Message] = {}
        self.config = {"app_id": APP, "app_secret": SECRET, "domain": self._feishu.url}

    def say(self, chat: int, text: str) -> None:
        self._last[chat] = self._feishu.say(self._feishu.room(f"ou_{chat}"), text)

    def repeat(self, chat: int) -> None:
        self._feishu.tell(self._last[chat])

    def drop(self, times: int) -> None:
        self._feishu.faults.append(Fault("drop", "POST .*/im/v1/messages(/.*reply)?$", times))

    def texts(self, chat: int) -> Sequence[str]:
        return [html.unescape(text) for text in self._feishu.texts(f"oc_{chat}")]

    def close(self) -> None:
        self._feishu.close()


@pytest.mark.slow
class TestFeishuChannel(ChannelContract):
    plugin = Plugin
    platform = Feishus
