"""The contract of every plugin."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_gateway import Gateway


class TestGatewayContract(PluginContract):
    plugin = Gateway
