"""What tokens cost: the service :class:`Prices`, which plugin ``insights`` offers.

::

    from hookline_hookspecs.prices import Prices

    prices = Prices.of(host)
    spent = prices.cost(response.model, response.usage)  # 0.0031; None where the price is unknown
    prices.format(spent)  # "$0.0031"
"""

from __future__ import annotations

from collections.abc import Sequence

from .host import Host
from .turns import Usage

FREE = "free (local)"
"""The cost, in words, of a model that runs on a machine of one's own."""
SMALLEST = 0.0001
"""Dollars below which an amount is only said to be less."""


class Prices:
    """What tokens cost. This class knows no price: it stands in where ``insights`` is off."""

    sign = "$"
    """Written before an amount of money."""

    @staticmethod
    def of(host: Host) -> Prices:
        """Return the prices that a plugin offers, or some of which every price is unknown."""
        return host.services.get(Prices) or Prices()

    def cost(self, model: str, usage: Usage, prompt: int | None = None) -> float | None:
        """Return what ``usage`` costs in US dollars; None if the price is unknown, 0.0 if free.

        Args:
            model: ``provider/model``.
            usage: of one request, or of several whose prompts have about the same length.
            prompt: tokens of one request's prompt, where ``usage`` is of several. Some models
                cost more where the prompt is long.
        """
        return None

    def saved(self, model: str, usage: Usage, prompt: int | None = None) -> float | None:
        """Return what the provider's cache saved in dollars; negative if it cost more."""
        return None

    def is_free(self, model: str) -> bool:
        """Return whether a model runs on a machine of one's own, such as ``ollama/qwen3:8b``."""
        return False

    def as_of(self, *models: str) -> str:
        """Return the day of the oldest price of these models, or where the prices are from.

        Empty if none is known, or all are the settings' own.
        """
        return ""

    def models(self) -> Sequence[str]:
        """Return the models of the lists that set prices, to choose from."""
        return ()

    def format(self, money: float | None) -> str:
        """Return an amount as people read it: ``$1.37``, ``$0.0042``, ``unknown`` for None."""
        return format_money(money, self.sign)

    def describe(self, model: str, usage: Usage, prompt: int | None = None) -> str:
        """Return the cost in words: ``$0.0031``, ``free (local)`` or ``unknown``."""
        return FREE if self.is_free(model) else self.format(self.cost(model, usage, prompt))


def format_money(money: float | None, sign: str = "$") -> str:
    """Return an amount as people read it: ``$1.37``, ``$0.0042``, ``unknown`` for None."""
    if money is None:
        return "unknown"
    minus, amount = ("-" if money < 0 else ""), abs(money)
    if amount >= 0.1 or not amount:
        return f"{minus}{sign}{amount:,.2f}"
    return f"{minus}{sign}{amount:.4f}" if amount >= SMALLEST else f"{minus}<{sign}{SMALLEST:.4f}"
