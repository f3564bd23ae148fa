"""What a turn's input cost, and the notice about a plugin that broke the prefix."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from hookline_hookspecs import ModelResponse, PrefixBreak, Usage
from hookline_hookspecs.prices import Prices, format_money


@dataclass
class TurnCost:
    """The requests of a turn: how many, their tokens, and what broke the prefix.

    ``ended`` is the time of the last response in Unix seconds, 0 before the first. ``paid`` are the
    models that responded, each with its tokens.
    """

    requests: int = 0
    usage: Usage = field(default_factory=Usage)
    ended: float = 0.0
    breaks: list[PrefixBreak] = field(default_factory=list)
    paid: list[tuple[str, Usage]] = field(default_factory=list)

    def add(self, response: ModelResponse, now: float) -> None:
        """Count a response that came at ``now``."""
        self.requests += 1
        self.usage = self.usage + response.usage
        self.ended = now
        self.paid.append((response.model, response.usage))
        if response.broken is not None:
            self.breaks.append(response.broken)

    def line(self, prices: Prices) -> str:
        """Return one line for the log, with what it cost and what the cache saved."""
        usage = self.usage
        money = _sum(prices.cost(model, one) for model, one in self.paid)
        saved = _sum(prices.saved(model, one) for model, one in self.paid)
        text = (
            f"{self.requests} requests, {usage.input} tokens of input: {usage.cache_read} read, "
            f"{usage.cache_write} written, {usage.fresh} fresh, {usage.output} of output; cost "
            f"{format_money(money)}, saved {format_money(saved)}"
        )
        return "; ".join([text, *(f"prefix broken: {_location(broken)}" for broken in self.breaks)])


def _sum(amounts: Iterable[float | None]) -> float | None:
    """The sum; None where a price is unknown."""
    known = list(amounts)
    return None if None in known else sum(filter(None, known))


def break_notice(broken: PrefixBreak) -> str:
    """Return the notice about a plugin that broke the prefix."""
    return (
        f"Plugin {broken.plugin} changed what was sent before ({_location(broken)}), so the "
        f"provider's cache was missed and that input was paid for again. If it happens again, "
        f"report it to the plugin's author, or run `hookline plugins disable {broken.plugin}`."
    )


def _location(broken: PrefixBreak) -> str:
    where = f"message {broken.message}, " if broken.message else ""
    return f"{broken.tier}, {where}byte {broken.offset}, by {broken.plugin}"
