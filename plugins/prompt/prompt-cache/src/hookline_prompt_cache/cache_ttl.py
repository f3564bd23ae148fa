"""Chooses how long a session's prefix is cached, by the person's pauses so far."""

from __future__ import annotations

from collections.abc import Sequence

from hookline_hookspecs import CachePrice

from .plan import Mode

TTL_5M_SECONDS, TTL_1H_SECONDS = 300.0, 3600.0
MAX_PAUSES = 8
"""The latest pauses that count: people change their pace within a session."""


def choose_ttl(pauses: Sequence[float], price: CachePrice) -> Mode:
    """Return how long to cache a turn's requests, given the pauses between turns so far.

    An hour costs more to write than five minutes. It pays if most pauses are longer than five
    minutes and enough of those end within the hour, because the prefix is then read instead of
    written again. The tool loop is cached for an hour too (``1h``, else ``split``) if the next
    message is likely to come within the hour but not within five minutes. Before the first pause,
    five minutes are the cheapest on average: many sessions end with their first answer.

    Args:
        pauses: seconds, oldest first.
        price: of writing to and reading from the cache.
    """
    recent = pauses[-MAX_PAUSES:]
    slow = [pause for pause in recent if pause > TTL_5M_SECONDS]
    if 2 * len(slow) <= len(recent):
        return "5m"
    within_hour = sum(pause <= TTL_1H_SECONDS for pause in slow)
    if within_hour * (price.write_1h - price.read) <= len(slow) * (price.write_1h - price.write):
        return "5m"
    rest = len(recent) + 1 - within_hour  # this turn may be the last
    saving = within_hour * (price.write - price.read)
    return "1h" if saving > rest * (price.write_1h - price.write) else "split"
