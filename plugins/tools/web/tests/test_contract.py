"""The contract of every plugin."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_web import Web


class TestWebContract(PluginContract):
    plugin = Web


class TestSearchingWebContract(PluginContract):
    plugin = Web
    config = {"search": "searxng", "searxng_base_url": "http://127.0.0.1:8888"}  # noqa: RUF012
