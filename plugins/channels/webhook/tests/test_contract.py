"""The contract of every plugin."""

from __future__ import annotations

from typing import ClassVar

from hookline.testing import PluginContract
from hookline_webhook import Webhook


class TestWebhookContract(PluginContract):
    plugin = Webhook
    config: ClassVar[dict[str, str]] = {"secret": "0123456789abcdef", "listen": "127.0.0.1:0"}
