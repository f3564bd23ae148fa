"""The cost of tokens as text."""

from __future__ import annotations

from collections.abc import Sequence

from hookline_hookspecs import Usage
from hookline_hookspecs.prices import Prices
from hookline_hookspecs.storage import Row

TOKEN_COLUMNS = ("input", "cache_read", "cache_write", "cache_write_1h", "output")


def format_cost(rows: Sequence[Row], prices: Prices) -> str:
    """Format the cost of rows of the query ``usage_by_model``: ``$1.37``, or ``at least $1.37`` if
    a price is unknown; empty if no price is known.
    """
    total, has_unknown = 0.0, False
    for row in rows:
        usage = Usage(**{name: row[name] for name in TOKEN_COLUMNS})
        cost = prices.cost(row["model"], usage, row["thousands"] * 1000 + 1)
        if cost is None:
            has_unknown = True
        else:
            total += cost
    if not total:
        return ""
    return f"{'at least ' if has_unknown else ''}{prices.format(total)}"
