"""The contract of providers: what the scripted model is sent."""

from __future__ import annotations

from hookline.testing import ProviderContract
from hookline_scripted import ScriptedProvider


class TestScripted(ProviderContract):
    provider = ScriptedProvider
    unsupported = frozenset({"max_tokens", "temperature"})
