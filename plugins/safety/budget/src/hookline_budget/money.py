"""What today's tokens cost, in words."""

from __future__ import annotations

from collections.abc import Sequence

from hookline_hookspecs import Usage
from hookline_hookspecs.prices import Prices
from hookline_hookspecs.storage import Row

TOKENS = ("input", "cache_read", "cache_write", "cache_write_1h", "output")


def cost(rows: Sequence[Row], prices: Prices) -> str:
    """Return ``$1.37``, ``at least $1.37`` where some price is unknown, or empty for nothing."""
    known, unknown = 0.0, False
    for row in rows:
        usage = Usage(**{name: row[name] for name in TOKENS})
        money = prices.cost(row["model"], usage, row["thousands"] * 1000 + 1)
        known, unknown = known + (money or 0.0), unknown or money is None
    if not known:
        return ""
    return f"{'at least ' if unknown else ''}{prices.format(known)}"
