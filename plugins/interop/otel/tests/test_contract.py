"""The contract of every plugin."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_otel import Otel


class TestOtelContract(PluginContract):
    plugin = Otel
