"""The contract of every plugin."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_audit import AuditPlugin


class TestAuditContract(PluginContract):
    plugin = AuditPlugin
