"""A limit and what has been used of it, in words and as the event of the signal ``budget``."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class BudgetState:
    """What has been used of a limit on a day.

    ``scope`` is ``chat`` or ``all``; ``channel`` and ``chat_id`` are empty for ``all``. ``used``
    and ``limit`` are tokens, ``resets`` is Unix time in seconds. ``day`` is the local one, such as
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
        """Whether nothing is left."""
        return self.used >= self.limit

    @property
    def setting(self) -> str:
        """The key in ``config.yaml`` that changes the limit."""
        key = "daily_tokens" if self.scope == "all" else "daily_tokens_per_chat"
        return f"plugins.budget.{key}"

    def refusal(self, now: float, paid: str = "") -> str:
        """The sentence for whoever meets the limit; ``paid`` is what it cost."""
        whose = "of all chats together" if self.scope == "all" else "of this chat"
        return (
            f"The budget {whose} for today is used up: {self.used:,} of {self.limit:,} "
            f"tokens{f', {paid}' if paid else ''}. It begins anew {_when(self.resets, now)}; to "
            f"allow more, set {self.setting} in config.yaml."
        )

    def line(self, now: float, paid: str = "") -> str:
        """The state in a line, for ``/budget``; ``paid`` is what it cost."""
        whose = "All chats" if self.scope == "all" else "This chat"
        share = 100 * self.used / self.limit
        left = max(0, self.limit - self.used)
        return (
            f"{whose}: {self.used:,} of {self.limit:,} tokens used today ({share:.0f} %)"
            f"{f', {paid}' if paid else ''}, {left:,} left; begins anew {_when(self.resets, now)}"
        )


def _when(resets: float, now: float) -> str:
    minutes = max(1, -int((now - resets) // 60))
    left = f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"
    return f"at {datetime.fromtimestamp(resets):%H:%M} (in {left})"
