"""The contract of every plugin."""

from __future__ import annotations

from typing import ClassVar

from hookline.testing import PluginContract
from hookline_feishu import Feishu


class TestFeishuContract(PluginContract):
    plugin = Feishu
    config: ClassVar[dict[str, str]] = {
        "app_id": "cli_a1b2c3d4e5f60000", "app_secret": "none", "domain": "http://127.0.0.1:9"
    }  # fmt: skip
