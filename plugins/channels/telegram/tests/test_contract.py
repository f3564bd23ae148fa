"""The contract of every plugin."""

from __future__ import annotations

from typing import ClassVar

from hookline.testing import PluginContract
from hookline_telegram import Telegram


class TestTelegramContract(PluginContract):
    plugin = Telegram
    config: ClassVar[dict[str, str]] = {"token": "1:none", "base_url": "http://127.0.0.1:9/bot"}
