"""The contract of every plugin."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_inspect import Inspect


class TestInspectContract(PluginContract):
    plugin = Inspect


class TestTracingInspectContract(PluginContract):
    plugin = Inspect
    core = {"trace": True}  # noqa: RUF012
