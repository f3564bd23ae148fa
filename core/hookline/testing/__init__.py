"""The test kit for plugins: the real core in memory, a scripted model, recorders.

pytest finds the fixture ``harness`` by itself once Hookline is installed::

    def test_greeting(harness):
        h = harness(Greeter, config={"greeting": "Hi"}, model=["hello"])
        assert h.send("hey").text == "hello"
"""

from .channel import FakeChannel
from .harness import Harness, Outcome
from .model import ScriptedModel, calls
from .recorder import HookCall, HookRecorder

__all__ = [
    "FakeChannel",
    "Harness",
    "HookCall",
    "HookRecorder",
    "Outcome",
    "ScriptedModel",
    "calls",
]
