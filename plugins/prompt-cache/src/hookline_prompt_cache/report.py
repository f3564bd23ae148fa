"""What a turn's input cost, and the sentence about a plugin that broke the prefix."""

from __future__ import annotations

from dataclasses import dataclass, field

from hookline_hookspecs import ModelResponse, PrefixBreak, Usage


@dataclass
class TurnCost:
    """The requests of a turn: how many, their tokens, and what broke the prefix.

    ``ended`` is the time of the last answer in Unix seconds, 0 before the first.
    """

    requests: int = 0
    usage: Usage = field(default_factory=Usage)
    ended: float = 0.0
    breaks: list[PrefixBreak] = field(default_factory=list)

    def add(self, response: ModelResponse, now: float) -> None:
        """Count a response that came at ``now``."""
        self.requests += 1
        self.usage = self.usage + response.usage
        self.ended = now
        if response.broken is not None:
            self.breaks.append(response.broken)

    @property
    def saved(self) -> float:
        """What the cache saved, in fresh input tokens; negative if it cost more."""
        return self.usage.input - self.usage.input_cost

    def line(self) -> str:
        """One line for the log."""
        usage = self.usage
        text = (
            f"{self.requests} requests, {usage.input} tokens of input: {usage.cache_read} read, "
            f"{usage.cache_write} written, {usage.fresh} fresh; cost {usage.input_cost:.0f}, "
            f"saved {self.saved:.0f}"
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
