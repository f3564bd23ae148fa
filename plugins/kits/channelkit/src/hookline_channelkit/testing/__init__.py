"""Parts of a fake platform: faults, a clock, traffic, the visible chats, and crash tests.

A fake runs in the test's process, on its own thread, so that it survives when gateways in other
processes are killed. Everything here may be used from any thread, and needs only the standard
library. An example::

    class FakePigeon:
        def __init__(self):
            self.clock, self.faults, self.chat_log = Clock(), Faults(), ChatLog()

        def post(self, request):                  # an HTTP request of the bot
            fault = self.faults.take("post")
            if fault in ("refuse", "silent"): …   # do nothing, do not answer
            if fault == "429": …                  # do nothing; use the platform's own header
            message = self.chat_log.add(chat, text, token=nonce)
            if fault == "drop": …                 # close the connection without an answer

Use a real client library over a real socket; otherwise the test proves nothing about the client.
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
