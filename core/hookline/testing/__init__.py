"""The test kit for plugins: the real core in memory, a scripted model, recorders, a contract.

pytest finds the fixtures ``harness``, ``clock`` and ``store`` once Hookline is installed::

    def test_greeting(harness):
        h = harness(Greeter, config={"greeting": "Hi"}, model=["hello"])
        assert h.send("hey").text == "hello"

To run the tests that every plugin must pass, subclass one class::

    from hookline.testing import PluginContract

    class TestGreeterContract(PluginContract):
        plugin = Greeter

Names are imported on first use, so that a test run that uses none of them does not pay for them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .channel import FakeChannel
    from .channel_contract import ChannelContract, ChannelPlatform
    from .clock import Clock
    from .contract import PluginContract
    from .harness import Harness, Outcome
    from .model import ScriptedModel, calls, streamed
    from .paths import guarded_paths
    from .prefix import assert_prompt_stable
    from .provider_contract import ProviderContract, ProviderServer
    from .recorder import HookCall, HookRecorder
    from .store import open_store

_HOMES = {
    "ChannelContract": "channel_contract",
    "ChannelPlatform": "channel_contract",
    "Clock": "clock",
    "FakeChannel": "channel",
    "Harness": "harness",
    "HookCall": "recorder",
    "HookRecorder": "recorder",
    "Outcome": "harness",
    "PluginContract": "contract",
    "ProviderContract": "provider_contract",
    "ProviderServer": "provider_contract",
    "ScriptedModel": "model",
    "assert_prompt_stable": "prefix",
    "calls": "model",
    "guarded_paths": "paths",
    "open_store": "store",
    "streamed": "model",
}
"""The module that defines each name."""

__all__ = [
    "ChannelContract",
    "ChannelPlatform",
    "Clock",
    "FakeChannel",
    "Harness",
    "HookCall",
    "HookRecorder",
    "Outcome",
    "PluginContract",
    "ProviderContract",
    "ProviderServer",
    "ScriptedModel",
    "assert_prompt_stable",
    "calls",
    "guarded_paths",
    "open_store",
    "streamed",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"hookline.testing has no {name}; it has {', '.join(__all__)}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
