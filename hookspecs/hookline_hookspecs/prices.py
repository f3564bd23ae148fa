"""Prices of tokens: the service :class:`Prices`, which the plugin ``insights`` provides.

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
"""The cost, in words, of a model that runs on one's own machine."""
MIN_SHOWN_AMOUNT = 0.0001
"""Smallest amount in dollars that is shown; a smaller one is shown as less than this."""


class Prices:
    """Prices of tokens. This class knows none and is used if ``insights`` is off."""

    sign = "$"
    """Written before an amount of money."""

    @staticmethod
    def of(host: Host) -> Prices:
        """Return the prices that a plugin provides, or an instance without any prices."""
        return host.services.get(Prices) or Prices()

    def cost(self, model: str, usage: Usage, prompt: int | None = None) -> float | None:
        """Return what ``usage`` costs in US dollars; None if the price is unknown, 0.0 if free.

        Args:
            model: ``provider/model``.
            usage: of one request, or of several whose prompts have about the same length.
            prompt: if ``usage`` is of several requests, the tokens of one request's prompt. Some
                models cost more if the prompt is long.
        """
        return None

    def saved(self, model: str, usage: Usage, prompt: int | None = None) -> float | None:
        """Return how many dollars the provider's cache saved; negative if it cost more."""
        return None

    def is_free(self, model: str) -> bool:
        """Return whether a model runs on one's own machine, such as ``ollama/qwen3:8b``."""
        return False

    def as_of(self, *models: str) -> str:
        """Return the date of the oldest price of these models, or the source of the prices.

        Empty if no price is known, or if all are set in config.
        """
        return ""

    def models(self) -> Sequence[str]:
        """Return the models in the price lists."""
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
    if amount >= MIN_SHOWN_AMOUNT:
        return f"{minus}{sign}{amount:.4f}"
    return f"{minus}<{sign}{MIN_SHOWN_AMOUNT:.4f}"
