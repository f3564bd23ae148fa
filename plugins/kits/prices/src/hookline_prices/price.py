"""What a model's tokens cost, and how an amount of money is written."""

from __future__ import annotations

from dataclasses import dataclass, fields

from hookline_hookspecs import Usage

MILLION = 1_000_000
SMALLEST = 0.0001
"""Dollars below which an amount is only said to be less."""


@dataclass(frozen=True, slots=True)
class Rates:
    """US dollars for a million tokens of each kind.

    What is None costs as much as other input: ``cache_read`` and ``cache_write`` as ``input``,
    ``cache_write_1h`` (tokens cached for an hour) as ``cache_write``.
    """

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None
    cache_write_1h: float | None = None

    def cost(self, usage: Usage) -> float:
        """Return what ``usage`` costs, in dollars."""
        read = self.input if self.cache_read is None else self.cache_read
        write = self.input if self.cache_write is None else self.cache_write
        write_1h = write if self.cache_write_1h is None else self.cache_write_1h
        short = usage.cache_write - usage.cache_write_1h
        paid = usage.fresh * self.input + usage.cache_read * read + usage.output * self.output
        return (paid + short * write + usage.cache_write_1h * write_1h) / MILLION


RATES = tuple(field.name for field in fields(Rates))


@dataclass(frozen=True, slots=True)
class Price:
    """The price of one model.

    ``long`` are the rates of a request whose prompt has more than ``above`` tokens, for all of its
    tokens; None where length does not matter. ``date`` is the day that the price was read
    (``2026-10-24``), ``source`` where.
    """

    rates: Rates
    date: str
    source: str = ""
    above: int = 0
    long: Rates | None = None

    def cost(self, usage: Usage, prompt: int) -> float:
        """Return what ``usage`` costs, in dollars, of requests with ``prompt`` tokens of input."""
        rates = self.long if self.long is not None and prompt > self.above else self.rates
        return rates.cost(usage)


def formatted(money: float | None, sign: str = "$") -> str:
    """Return an amount as people read it: ``$1.37``, ``$0.0042``, ``unknown`` for None."""
    if money is None:
        return "unknown"
    minus, amount = ("-" if money < 0 else ""), abs(money)
    if amount >= 0.1 or not amount:
        return f"{minus}{sign}{amount:,.2f}"
    return f"{minus}{sign}{amount:.4f}" if amount >= SMALLEST else f"{minus}<{sign}{SMALLEST:.4f}"
