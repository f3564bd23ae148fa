"""What a fake platform is built of: faults, a clock, traffic, what people see, and storms of kills.

A fake runs in the test's process, on a thread of its own, so that gateways in other processes can
be killed and it stays. Everything here may be used from any thread, and needs the standard library
alone. How the parts fit together::

    class FakePigeon:
        def __init__(self):
            self.clock, self.faults, self.ledger = Clock(), Faults(), Ledger()

        def post(self, request):                  # an HTTP request of the bot
            fault = self.faults.take("post")
            if fault in ("refuse", "silent"): …   # nothing is done, no word
            if fault == "429": …                  # nothing is done; the platform's own header
            shown = self.ledger.show(chat, text, token=nonce)
            if fault == "drop": …                 # done, and the connection is cut without a word

A real client library talks to it over a real socket, or the test proves nothing about the wire.
"""

from __future__ import annotations

from .clock import Clock
from .faults import KINDS, Fault, Faults
from .ledger import Ledger, Shown
from .storms import KIT_POINTS, LONG, POINTS, SHORT, Gateways, Report, Storm, chosen, survive
from .traffic import deliveries, misshapen

__all__ = [
    "KINDS",
    "KIT_POINTS",
    "LONG",
    "POINTS",
    "SHORT",
    "Clock",
    "Fault",
    "Faults",
    "Gateways",
    "Ledger",
    "Report",
    "Shown",
    "Storm",
    "chosen",
    "deliveries",
    "misshapen",
    "survive",
]
