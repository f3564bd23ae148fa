"""The contract of every plugin."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest
from hookline.testing import PluginContract
from hookline_threat_scan import ThreatScan


class TestThreatScan(PluginContract):
    plugin = ThreatScan

    @pytest.mark.long  # it reads millions of characters
    def test_it_survives_hostile_events(self, harness: Any, tmp_path: Path) -> None:
        super().test_it_survives_hostile_events(harness, tmp_path)


class TestThreatScanWithSettings(TestThreatScan):
    config: ClassVar[dict[str, Any]] = {
        "allow": ["tests/*"],
        "installers": ["tools.example.com"],
        "data_kinds": ["file"],
    }
