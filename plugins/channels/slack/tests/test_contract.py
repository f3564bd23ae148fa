"""The contract of every plugin."""

from __future__ import annotations

from typing import ClassVar

from hookline.testing import PluginContract
from hookline_slack import Slack


class TestSlackContract(PluginContract):
    plugin = Slack
    config: ClassVar[dict[str, str]] = {
        "bot_token": "xoxb-1-none",
        "app_token": "xapp-1-none",
        "api_url": "http://127.0.0.1:9/api/",
    }
