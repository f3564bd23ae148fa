"""How much of a limit is used: the event of the signal ``budget``, and its text."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from hookline_hookspecs.sentences import N_
from hookline_hookspecs.web import tn


@dataclass(frozen=True, slots=True)
class BudgetState:
    """What has been used of a limit on one day.

    ``scope`` is ``chat`` or ``all``; ``channel`` and ``chat_id`` are empty for ``all``. ``used``
    and ``limit`` are tokens, ``resets`` is Unix time in seconds. ``day`` is the local date, such as
    ``2026-11-22``.
    """

    scope: str
    channel: str
    chat_id: str
    used: int
    limit: int
    day: str
    resets: float

    @property
    def over(self) -> bool:
        """Whether the limit is reached."""
        return self.used >= self.limit

    @property
    def setting(self) -> str:
        """The key in ``config.yaml`` that changes the limit."""
        key = "daily_tokens" if self.scope == "all" else "daily_tokens_per_chat"
        return f"plugins.budget.{key}"

    def refusal(self, now: float, cost: str = "") -> str:
        """The reason why a call is refused; ``cost`` is what today's tokens cost, if known."""
        scope = N_("all chats together") if self.scope == "all" else N_("this chat")
        used = f"{self.used:,}{f' ({cost})' if cost else ''}"
        return " ".join(
            (
                N_(f"Today's budget for {scope} is used up: {used} of {self.limit:,} tokens."),
                N_(f"It resets at {_format_reset(self.resets, now)}."),
                N_(f"To allow more, set {self.setting} in config.yaml."),
            )
        )

    def line(self, now: float, cost: str = "") -> str:
        """One line for ``/budget``; ``cost`` is what today's tokens cost, if known."""
        scope = N_("All chats") if self.scope == "all" else N_("This chat")
        percent = 100 * self.used / self.limit
        resets = _format_reset(self.resets, now)
        left = max(0, self.limit - self.used)
        parts = (
            scope,
            N_(f"{self.used:,} of {self.limit:,} tokens used today ({percent:.0f} %)"),
            cost,
            tn("{n} token left", "{n} tokens left", left),
            N_(f"resets at {resets}"),
        )
        return " · ".join(filter(None, parts))


def _format_reset(resets: float, now: float) -> str:
    minutes = max(1, -int((now - resets) // 60))
    left = f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"
    return f"{datetime.fromtimestamp(resets):%H:%M} (in {left})"
