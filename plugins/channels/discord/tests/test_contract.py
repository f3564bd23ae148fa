"""The contract of every plugin."""

from __future__ import annotations

from typing import ClassVar

from hookline.testing import PluginContract
from hookline_discord import Discord


class TestDiscordContract(PluginContract):
    plugin = Discord
    config: ClassVar[dict[str, str]] = {
        "token": "not-a-token-at-all",
        "api_url": "http://127.0.0.1:9/api/v10",
    }
