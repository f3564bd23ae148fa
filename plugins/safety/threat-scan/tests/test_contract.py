"""The contract of every plugin."""

from __future__ import annotations

from typing import Any, ClassVar

from hookline.testing import PluginContract
from hookline_threat_scan import ThreatScan


class TestThreatScan(PluginContract):
    plugin = ThreatScan


class TestThreatScanWithSettings(PluginContract):
    plugin = ThreatScan
    config: ClassVar[dict[str, Any]] = {
        "allow": ["tests/*"],
        "installers": ["tools.example.com"],
        "data_kinds": ["file"],
    }
