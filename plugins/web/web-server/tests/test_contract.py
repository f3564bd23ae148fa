"""The contract of every plugin."""

from __future__ import annotations

from typing import ClassVar

from hookline.testing import PluginContract
from hookline_web_server import WebServerPlugin


class TestWebServerContract(PluginContract):
    plugin = WebServerPlugin
    config: ClassVar[dict[str, str]] = {"listen": "127.0.0.1:0"}
