"""Chooses how long a session's prefix is cached, by the person's pauses so far."""

from __future__ import annotations

from collections.abc import Sequence

from hookline_hookspecs import CachePrice

from .plan import Mode

SHORT, LONG = 300.0, 3600.0
"""Seconds for which a provider keeps what was written for five minutes and for an hour."""
RECENT = 8
"""How many pauses count: people keep a pace for some messages, not for a whole session."""


def rhythm(pauses: Sequence[float], price: CachePrice) -> Mode:
    """How long to keep a turn's requests, for pauses like the latest of ``pauses`` (seconds, in the
    order they were made).

    An hour, where most pauses are longer than five minutes and enough of those end within the hour
    to earn its price: one that does saves writing anew what is now read, one that does not has
    been paid for in vain. The tool loop too, if the next message is likely enough to come within
    the hour but not within five minutes: then it is written once and not twice. Before the first
    pause nothing is known, and five minutes are the cheapest in expectation: many sessions end with
    their first answer, and one that goes on slowly loses the short prefix of one turn, once.
    """
    recent = pauses[-RECENT:]
    slow = [pause for pause in recent if pause > SHORT]
    if 2 * len(slow) <= len(recent):
        return "5m"
    bridged = sum(pause <= LONG for pause in slow)
    if bridged * (price.write_1h - price.read) <= len(slow) * (price.write_1h - price.write):
        return "5m"
    others = len(recent) + 1 - bridged  # any turn may be the last
    earned = bridged * (price.write - price.read)
    return "1h" if earned > others * (price.write_1h - price.write) else "split"
