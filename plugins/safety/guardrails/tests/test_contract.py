"""The contract of every plugin."""

from __future__ import annotations

from hookline.testing import PluginContract
from hookline_guardrails import Guardrails


class TestGuardrailsContract(PluginContract):
    plugin = Guardrails
