"""What models' tokens cost, in US dollars, as data with a date.

::

    from hookline_prices import Prices, formatted

    prices = Prices.of(host)  # the home's list and settings; Prices() for the packaged list alone
    spent = prices.cost("anthropic/claude-sonnet-5-5", response.usage)
    formatted(spent)  # "$0.0031"; "unknown" where the price is not known
    prices.told("ollama/qwen3:8b", response.usage)  # "free (local)"

Nothing is read before the first price is asked for.
"""

from __future__ import annotations

from hookline_hookspecs import Usage

from .price import RATES, Price, Rates, formatted
from .prices import FREE, NAME, Prices, packaged
from .reading import BadPrices, PriceList, read_list
from .updating import changes, save

__all__ = [
    "FREE",
    "NAME",
    "RATES",
    "BadPrices",
    "Price",
    "PriceList",
    "Prices",
    "Rates",
    "changes",
    "cost",
    "formatted",
    "packaged",
    "read_list",
    "save",
]


def cost(model: str, usage: Usage) -> float | None:
    """Return what ``usage`` costs by the packaged list: dollars, 0.0 for a local server, or None.

    A plugin uses :meth:`Prices.of`, which knows the home's list and settings too.
    """
    return Prices().cost(model, usage)
