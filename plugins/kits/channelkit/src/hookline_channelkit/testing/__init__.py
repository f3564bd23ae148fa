"""Parts of a fake platform: faults, a clock, traffic, what people see, and crash tests.

A fake runs in the test's process, on a thread of its own, so that gateways in other processes can
be killed while it stays. Everything here may be used from any thread, and needs only the standard
library. How the parts fit together::

    class FakePigeon:
        def __init__(self):
            self.clock, self.faults, self.chat_log = Clock(), Faults(), ChatLog()

        def post(self, request):                  # an HTTP request of the bot
            fault = self.faults.take("post")
            if fault in ("refuse", "silent"): …   # do nothing, do not answer
            if fault == "429": …                  # do nothing; use the platform's own header
            message = self.chat_log.add(chat, text, token=nonce)
            if fault == "drop": …                 # it is done; cut the connection without an answer

Let a real client library talk to it over a real socket, or the test proves nothing about the
client.
"""

from __future__ import annotations

from .chat_log import ChatLog, ChatMessage
from .clock import Clock
from .crash_test import (
    CHANNEL_CRASH_POINTS,
    CRASH_POINTS,
    LONG_PLAN,
    SHORT_PLAN,
    CrashPlan,
    CrashReport,
    GatewayDriver,
    plan_from_env,
    run_crash_test,
)
from .faults import FAULT_KINDS, Fault, Faults
from .traffic import malformed, redelivered

__all__ = [
    "CHANNEL_CRASH_POINTS",
    "CRASH_POINTS",
    "FAULT_KINDS",
    "LONG_PLAN",
    "SHORT_PLAN",
    "ChatLog",
    "ChatMessage",
    "Clock",
    "CrashPlan",
    "CrashReport",
    "Fault",
    "Faults",
    "GatewayDriver",
    "malformed",
    "plan_from_env",
    "redelivered",
    "run_crash_test",
]
