"""What a turn's input cost, and the sentence about a plugin that broke the prefix."""

from __future__ import annotations

from dataclasses import dataclass, field

from hookline_hookspecs import ModelResponse, PrefixBreak, Usage
from hookline_prices import Prices, formatted


@dataclass
class TurnCost:
    """The requests of a turn: how many, their tokens, and what broke the prefix.

    ``ended`` is the time of the last answer in Unix seconds, 0 before the first. ``money`` is what
    they cost and ``saved`` what the cache saved, in dollars; None where a price is unknown.
    """

    requests: int = 0
    usage: Usage = field(default_factory=Usage)
    ended: float = 0.0
    breaks: list[PrefixBreak] = field(default_factory=list)
    money: float | None = 0.0
    saved: float | None = 0.0

    def add(self, response: ModelResponse, now: float, prices: Prices) -> None:
        """Count a response that came at ``now``."""
        self.requests += 1
        self.usage = self.usage + response.usage
        self.ended = now
        paid = prices.cost(response.model, response.usage)
        saved = prices.saved(response.model, response.usage)
        self.money = None if self.money is None or paid is None else self.money + paid
        self.saved = None if self.saved is None or saved is None else self.saved + saved
        if response.broken is not None:
            self.breaks.append(response.broken)

    def line(self) -> str:
        """One line for the log."""
        usage = self.usage
        text = (
            f"{self.requests} requests, {usage.input} tokens of input: {usage.cache_read} read, "
            f"{usage.cache_write} written, {usage.fresh} fresh, {usage.output} of output; cost "
            f"{formatted(self.money)}, saved {formatted(self.saved)}"
        )
        return "; ".join([text, *(f"prefix broken: {_place(one)}" for one in self.breaks)])


def sentence(broken: PrefixBreak) -> str:
    """Return the sentence about the plugin that broke the prefix."""
    return (
        f"Plugin {broken.plugin} changed what had been sent before ({_place(broken)}), so the "
        f"provider's cache was missed and that input was paid for again. If it keeps doing so, "
        f"report it to its author, or switch it off: hookline plugins disable {broken.plugin}"
    )


def _place(broken: PrefixBreak) -> str:
    where = f"message {broken.message}, " if broken.message else ""
    return f"{broken.tier}, {where}byte {broken.offset}, by {broken.plugin}"
