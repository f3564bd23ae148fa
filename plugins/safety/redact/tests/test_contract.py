"""The contract of every plugin."""

from __future__ import annotations

from typing import Any, ClassVar

from hookline.testing import PluginContract
from hookline_redact import Redact


class TestRedact(PluginContract):
    plugin = Redact


class TestRedactOutbound(PluginContract):
    plugin = Redact
    config: ClassVar[dict[str, Any]] = {"outbound": True, "region": "de", "kinds": ["email"]}
