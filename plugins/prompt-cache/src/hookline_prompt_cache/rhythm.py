"""Chooses how long a session's prefix is cached, by the person's pauses so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from hookline_hookspecs import CachePrice

SHORT, LONG = 300.0, 3600.0
"""Seconds for which a provider keeps what was written for five minutes and for an hour."""
RECENT = 8
"""How many pauses count: people keep a pace for some messages, not for a whole session."""


def rhythm(pauses: Sequence[float], price: CachePrice) -> Literal["5m", "1h"]:
    """The TTL for pauses like the latest of ``pauses`` (seconds, in the order they were made).

    An hour, where most pauses are longer than five minutes and enough of those end within the hour
    to earn its price: one that does saves writing anew what is now read, one that does not has
    been paid for in vain. Before the first pause nothing is known, and five minutes are the
    cheapest in expectation: many sessions end with their first answer, and one that goes on slowly
    loses the short prefix of one turn, once.
    """
    recent = pauses[-RECENT:]
    slow = [pause for pause in recent if pause > SHORT]
    if 2 * len(slow) <= len(recent):
        return "5m"
    bridged = sum(pause <= LONG for pause in slow)
    saved = bridged * (price.write_1h - price.read)
    return "1h" if saved > len(slow) * (price.write_1h - price.write) else "5m"
