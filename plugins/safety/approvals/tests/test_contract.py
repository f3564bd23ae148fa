"""The contract of every plugin."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_approvals import Approvals


class TestApprovalsContract(PluginContract):
    plugin = Approvals
